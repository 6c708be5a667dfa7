"""The losses of Liger Kernel's chunked layers, which are plain PyTorch: GRPO and its kin, DPO, and a divergence.

A chunked layer applies its loss to the logits, or logarithms of probabilities, of a chunk. Here they are the arguments.
"""

from importlib.metadata import version as version_of

import torch
from liger_kernel.chunked_loss.dpo_loss import LigerFusedLinearDPOFunction
from liger_kernel.chunked_loss.grpo_loss import LigerFusedLinearGRPOFunction
from liger_kernel.chunked_loss.jsd_loss import LigerFusedLinearJSDFunction

framework = "torch"
device = "cpu"
version = f"liger-kernel {version_of('liger-kernel')}, torch {torch.__version__}"
conventions = {"all_ignored": "zero", "empty_sequences": "counted"}
domain = {
    "divergence": {"reduction": ("sum",)},  # the layer divides, and not the loss
    "dpo_loss": {"label_smoothing": (0.0,), "reduction": ("mean",)},
    "policy_loss": {
        "objective": ("clip",),
        "kl_estimator": ("k3",),
        "advantage_dims": (1,),  # of sequences
        "reduction": ("token-mean", "seq-mean-token-mean", "constant"),
    },
}
LOSSES = {"token-mean": "bnpo", "seq-mean-token-mean": "grpo", "constant": "dr_grpo"}


def divergence(student_logits, teacher_logits, targets=None, *, beta=0.0, ignore_index=-100, reduction="sum"):
    """The layer casts the logits to float32, which float64 is wider than."""
    student, teacher = (x if x.dtype == torch.float64 else x.float() for x in (student_logits, teacher_logits))
    return LigerFusedLinearJSDFunction.distillation_loss_fn(student, teacher, beta, targets, ignore_index)


def dpo_loss(
    policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta=0.1, reduction="mean"
):  # fmt: skip
    """The number of pairs is half of the length of the targets."""
    targets = policy_chosen.new_empty(2 * len(policy_chosen))
    loss, *_ = LigerFusedLinearDPOFunction.preference_loss_fn(
        policy_chosen, policy_rejected, targets, reference_chosen, reference_rejected, beta=beta
    )
    return loss


def policy_loss(
    log_probs, advantages, mask, old_log_probs=None, reference_log_probs=None,
    *, clip_low=0.2, clip_high=0.2, ratio_limit=None, level="token", kl_weight=0.0, reduction="token-mean", horizon=None,
):  # fmt: skip
    loss, _ = LigerFusedLinearGRPOFunction.ppo_loss_fn(
        log_probs, mask.to(log_probs.dtype), advantages, mask.to(log_probs.dtype), reference_log_probs, old_log_probs,
        clip_low, clip_high, kl_weight, LOSSES[reduction], log_probs.shape[1] if horizon is None else horizon, level,
        delta=ratio_limit,
    )  # fmt: skip
    return loss
