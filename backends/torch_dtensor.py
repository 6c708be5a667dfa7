"""PyTorch's own parallel layers: modules that parallelize_module cuts into DTensors, over gloo.

DTensor refuses products over shards of different lengths, so that the domain has lengths that 1 to 4 ranks divide evenly.
"""

from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

from ._distributed_group import WORLD_SIZE

framework = "torch"
device = "cpu"
world_size = (2, 1, 3, 4)
shards = {"rms_norm": {"x": -2, "result": -2}}
EVEN = (12, 24, 36)
domain = {
    "swiglu": {"h": EVEN},
    "feed_forward": {"h": EVEN},
    "embedding": {"vocab": EVEN},
    "rms_norm": {"batch_dims": (1, 2, 3)},
}
mesh = init_device_mesh("cpu", (WORLD_SIZE,))
ROW = RowwiseParallel(input_layouts=Replicate())


class Gated(nn.Module):
    def __init__(self, w1, w2, w3, b1=None, b2=None, b3=None):
        super().__init__()
        self.w1, self.w2, self.w3 = layer(w1, b1), layer(w2, b2), layer(w3, b3)

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))


class FeedForward(nn.Module):
    def __init__(self, w1, w2, b1=None, b2=None, *, activation="relu"):
        super().__init__()
        self.w1, self.w2, self.activation = layer(w1, b1), layer(w2, b2), getattr(nn.functional, activation)

    def forward(self, x):
        return self.w2(self.activation(self.w1(x)))


class Norm(nn.Module):
    """A module whose only layer can be cut: parallelize_module cuts the children of a module."""

    def __init__(self, weight, eps):
        super().__init__()
        self.layer = nn.RMSNorm(len(weight), eps=eps, dtype=weight.dtype)
        self.layer.weight = nn.Parameter(weight.detach().clone())

    def forward(self, x):
        return self.layer(x).to_local()


def layer(weight, bias=None):
    """A linear layer with copies of these weights."""
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    made.weight = nn.Parameter(weight.detach().clone())
    if bias is not None:
        made.bias = nn.Parameter(bias.detach().clone())
    return made


def run(module, plan, x, cotangent=None, names=()):
    """The result of the module cut by the plan, or the gradients of x and of the parameters with these names."""
    module = parallelize_module(module, mesh, plan)
    x = x.detach().clone().requires_grad_(cotangent is not None)
    y = module(x)
    if cotangent is None:
        return y.detach()
    y.backward(cotangent)
    found = dict(module.named_parameters())
    return x.grad, *(None if name not in found else found[name].grad.full_tensor() for name in names)


GATED_PLAN = {"w1": ColwiseParallel(), "w3": ColwiseParallel(), "w2": RowwiseParallel()}
WEIGHTS, BIASES = ("w1.weight", "w2.weight", "w3.weight"), ("w1.bias", "w2.bias", "w3.bias")


def swiglu(x, w1, w2, w3, b1=None, b2=None, b3=None):
    return run(Gated(w1, w2, w3, b1, b2, b3), dict(GATED_PLAN), x)


def swiglu_vjp(cotangent, x, w1, w2, w3, b1=None, b2=None, b3=None):
    return run(Gated(w1, w2, w3, b1, b2, b3), dict(GATED_PLAN), x, cotangent, (*WEIGHTS, *BIASES))


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    plan = {"w1": ColwiseParallel(), "w2": RowwiseParallel()}
    return run(FeedForward(w1, w2, b1, b2, activation=activation), plan, x)


def embedding(token_ids, weight):
    table = nn.Module()
    table.layer = nn.Embedding(*weight.shape, _weight=weight.detach().clone())
    parallelize_module(table, mesh, {"layer": ROW})
    return table.layer(token_ids).detach()


def rms_norm(x, weight, *, eps):
    return run(Norm(weight, eps), {"layer": SequenceParallel(sequence_dim=x.dim() - 2)}, x)


def rms_norm_vjp(cotangent, x, weight, *, eps):
    plan = {"layer": SequenceParallel(sequence_dim=x.dim() - 2)}
    return run(Norm(weight, eps), plan, x, cotangent, ("layer.weight",))
