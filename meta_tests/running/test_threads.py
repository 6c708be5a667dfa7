"""Threads of OpenMP: a run lets idle ones sleep and gives a worker its share, unless the caller has set the variables."""

import os
from pathlib import Path

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, environment, suite, write

NAMES = ("OMP_WAIT_POLICY", "OMP_NUM_THREADS")
BACKEND = """
import os
import os
from pathlib import Path

Path(__file__).with_suffix(".txt").write_text(" ".join(os.environ.get(name, "unset") for name in {names}))
def relu(x): return np.maximum(x, 0)
"""


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("processes", "extra", "expected"),
    [
        ((), {}, "PASSIVE unset"),
        ((), {"OMP_WAIT_POLICY": "ACTIVE", "OMP_NUM_THREADS": "3"}, "ACTIVE 3"),
        (("-n", "2"), {}, f"PASSIVE {max(1, (os.cpu_count() or 1) // 2)}"),
        (("-n", "2"), {"OMP_NUM_THREADS": "3"}, "PASSIVE 3"),
    ],
    ids=["one process", "one process, set by the caller", "two workers", "two workers, set by the caller"],
)
def test_a_run_sets_what_the_caller_has_not_set(
    processes: tuple[str, ...], extra: dict[str, str], expected: str, tmp_path: Path
) -> None:
    write(tmp_path, mine=NUMPY + BACKEND.format(names=NAMES))
    unset = {name: value for name, value in environment(ROOT).items() if name not in NAMES}
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", *processes, env=unset | extra)
    assert run.code == 0, run.text
    assert (tmp_path / "mine.txt").read_text() == expected
