"""Divide by the number of all rows, of which some are ignored."""

from ..right.cross_entropy_online import *

operation = "cross_entropy"
says = ("divides by the number of all rows",)
right_cross_entropy = cross_entropy


def cross_entropy(logits, targets, *, ignore_index=-100, reduction="mean"):
    losses = right_cross_entropy(logits, targets, ignore_index=ignore_index, reduction="none")
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()
