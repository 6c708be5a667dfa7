"""A wrong sharded implementation: a right one that ships, with one fault that others have made.

A variant is a change of the text of a file of `backends/`. All files are copied, so that nothing else differs.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .paths import ROOT

LAYERS, VOCABULARY, ATTENTION, GROUP = (f"_distributed_{name}.py" for name in ("layers", "vocabulary", "attention", "group"))
RING, AXIS = "_distributed_ring.py", "_distributed_other_axis.py"
JAX_LAYERS, JAX_VOCABULARY, JAX_ATTENTION = (f"_jax_ranks_{name}.py" for name in ("layers", "vocabulary", "attention"))
FIRST, SECOND, THIRD = "torch_distributed", "torch_distributed_ring", "jax_shard_map"  # the backends that import these files
BACKENDS = (FIRST, SECOND, THIRD)
WORLD_SIZE = "dist.get_world_size()"


@dataclass(frozen=True)
class Variant:
    """One fault: what it is, the operation that it spoils, the file, the text that it changes, and what an explanation says."""

    name: str
    operation: str
    file: str
    old: str
    new: str
    says: str  # a pattern

    @property
    def backend(self) -> str:
        """The backend that the file belongs to."""
        if self.file.startswith("_jax"):
            return THIRD
        return SECOND if self.file in (RING, AXIS) else FIRST

    def write(self, folder: Path) -> Path:
        """Write the wrong backend into the folder, and return its path."""
        for pattern in ("*torch*.py", "_distributed*.py", "*jax*.py"):
            for path in (ROOT / "backends").glob(pattern):
                shutil.copy(path, folder)
        text = (folder / self.file).read_text(encoding="utf-8")
        assert text.count(self.old) == 1, f"{self.name}: {text.count(self.old)} places in {self.file}"
        imported = (
            "" if "import torch.distributed as dist" in text or "dist." not in self.new else "import torch.distributed as dist\n"
        )
        start = text.index('"""', 3) + 4  # after the docstring
        text = text.replace(self.old, self.new)
        (folder / self.file).write_text(text[:start] + imported + text[start:], encoding="utf-8")
        return folder / f"{self.backend}.py"
