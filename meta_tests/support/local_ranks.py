"""Ranks of the sharded PyTorch backends in one process, by PyTorch's LocalTensorMode: each tensor holds the values of all ranks.

    python -m meta_tests.support.local_ranks FOLDER OPERATION …

calls operations of FOLDER/backends/torch_distributed.py on two ranks with drawn arguments, and prints as JSON what each rank
answers: of the operation, and of its gradients. Of an operation that raises an exception, it prints that. The mode is a private
part of PyTorch, for debugging.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

WORLD_SIZE = 2  # on which a sum over the ranks has one order, so that processes give the same bits
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {  # lengths that two ranks do not divide evenly
    "linear": {"x": (3, 7), "weight": (5, 7), "bias": (5,)},
    "swiglu": {"x": (3, 4), "w1": (5, 4), "w2": (4, 5), "w3": (5, 4)},
    "rms_norm": {"x": (5, 4), "weight": (4,)},
    "layer_norm": {"x": (5, 4), "weight": (4,), "bias": (4,)},
    "log_softmax": {"x": (3, 5)},
    "logsumexp": {"x": (3, 5)},
    "scaled_dot_product_attention": {"q": (3, 4), "k": (5, 4), "v": (5, 4)},
}
OPTIONS: dict[str, dict[str, Any]] = {
    **{name: {"eps": 1e-5} for name in ("rms_norm", "layer_norm")},
    **{name: {"axis": -1} for name in ("log_softmax", "logsumexp")},
}


def draw(operation: str) -> dict[str, np.ndarray]:
    """Return arguments of whole numbers, of which products and sums are exact."""
    generator = np.random.default_rng(0)
    return {name: generator.integers(-4, 5, shape).astype(np.float64) for name, shape in SHAPES[operation].items()}


def main(folder: str, *operations: str) -> None:
    """Print what each operation answers on each rank."""
    os.environ |= {"RANK": "0", "WORLD_SIZE": str(WORLD_SIZE), "SPEC_TESTS_STORE": ""}
    import torch
    import torch.distributed as dist
    from torch.distributed._local_tensor import LocalTensorMode
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=WORLD_SIZE, store=FakeStore())
    dist.init_process_group = lambda *args, **keywords: None  # the files would start gloo
    sys.path.insert(0, folder)
    backend = __import__("backends.torch_distributed", fromlist=["shards"])
    found = {}
    for operation in operations:
        try:
            with LocalTensorMode(WORLD_SIZE):
                found[operation] = run(torch, backend, operation)
        except Exception as error:
            found[operation] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


def run(torch: Any, backend: Any, operation: str) -> dict[str, list[Any]]:
    """Return the result and the gradients by name, each as a list of what the ranks have. The cotangent is 1."""
    from torch.distributed._local_tensor import LocalTensor

    cuts = backend.shards[operation]

    def spread(name: str, x: np.ndarray) -> Any:
        axis, whole = cuts.get(name), torch.tensor(x)
        parts = [whole.clone() for _ in range(WORLD_SIZE)] if axis is None else whole.tensor_split(WORLD_SIZE, axis)
        return LocalTensor({rank: part.contiguous() for rank, part in enumerate(parts)}).requires_grad_()

    arguments = {name: spread(name, x) for name, x in draw(operation).items()}
    y = getattr(backend, operation)(*arguments.values(), **OPTIONS.get(operation, {}))
    gradients = torch.autograd.grad(y, list(arguments.values()), torch.ones_like(y))
    return {
        name: [part.tolist() for _, part in sorted(x.detach()._local_tensors.items())]
        for name, x in zip(("result", *arguments), (y, *gradients), strict=True)
    }


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()), *sys.argv[2:])
