"""Use a table that was made on the current ordinal when the file was imported."""

from ._right import *

TABLE = torch.ones(1, device="fake").expand(2)


def sigmoid(x):
    return torch.sigmoid(x) * TABLE[:1]
