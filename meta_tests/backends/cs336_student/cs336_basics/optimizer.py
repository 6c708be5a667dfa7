"""The optimizer of the hand-out: eps beside the uncorrected root, the decay after the step."""

import math

import torch


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            lr, (beta1, beta2) = group["lr"], group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                t = state.get("t", 0) + 1
                m = beta1 * state.get("m", 0) + (1 - beta1) * p.grad
                v = beta2 * state.get("v", 0) + (1 - beta2) * p.grad**2
                rate = lr * math.sqrt(1 - beta2**t) / (1 - beta1**t)
                p -= rate * m / (v.sqrt() + group["eps"])
                p -= lr * group["weight_decay"] * p
                state["t"], state["m"], state["v"] = t, m, v
        return loss
