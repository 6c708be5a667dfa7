"""Ask for more memory than the device has."""

from ._right import *


def sigmoid(x):
    _, total = torch.cuda.mem_get_info()
    return torch.sigmoid(x + torch.empty(total, dtype=torch.float32, device=x.device)[0])
