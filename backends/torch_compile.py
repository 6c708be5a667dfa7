"""The plain PyTorch of torch_cpu, each operation compiled as a whole by torch.compile."""

import inspect

import torch

from . import torch_cpu
from .torch_cpu import *

for name, operation in inspect.getmembers(torch_cpu, inspect.isfunction):
    if not name.startswith("_") and name != "parameter_count":
        globals()[name] = torch.compile(operation, dynamic=True, fullgraph=True)
