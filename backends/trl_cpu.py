"""TRL's functions of logits: log-probabilities and entropies, as its trainers use them, and the loss of its GKD trainer."""

import os

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # read where trl.experimental is imported, which warns without it

import torch
import trl
from trl.experimental.gkd.gkd_trainer import GKDTrainer
from trl.trainer.utils import selective_log_softmax_and_entropy

framework = "torch"
device = "cpu"
version = f"trl {trl.__version__}, torch {torch.__version__}"
conventions = {"all_ignored": "zero"}
domain = {"divergence": {"reduction": ("mean", "sum"), "ignore_index": (-100,)}}


def token_log_probs(logits, targets, *, temperature=1.0):
    """TRL's functions go through the first axis of a batch."""
    log_probs, entropy = selective_log_softmax_and_entropy(logits[None], targets[None], temperature=temperature)
    return log_probs[0], entropy[0]


def divergence(student_logits, teacher_logits, targets=None, *, beta=0.0, temperature=1.0, reduction="mean"):
    """ "batchmean" divides by the number of labels, where there are labels."""
    if targets is None:
        targets = torch.zeros(student_logits.shape[:-1], dtype=torch.int64)
    return GKDTrainer.generalized_jsd_loss(
        student_logits, teacher_logits, targets, beta, temperature, {"mean": "batchmean"}.get(reduction, reduction)
    )
