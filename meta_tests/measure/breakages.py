"""Run the suite on each broken and each dishonest backend, with --isolate and without, and record how the run ends.

`python -m meta_tests.measure.breakages` writes breakages.txt, dishonest.txt, devices.txt and, on a machine with a CUDA device,
cuda.txt into docs/measured; a test compares them with new runs.
Each backend has a `sigmoid` that is broken, and a `relu` that is right and must be found so.
Some are servers of the process protocol, started by a .toml file. They are in a process of their own with --isolate and without.
Those of devices.txt are on the fake device of `meta_tests/support`, and those of cuda.txt on a CUDA device.
"""

from __future__ import annotations

import re
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ..support.hostile_process import run_hostile
from ..support.kept_rows import KeptRows
from ..support.paths import BACKENDS, MEASURED

TABLES = {"breakages": "broken", "dishonest": "dishonest", "devices": "devices", "cuda": "cuda"}
FOLDERS = {table: BACKENDS / folder for table, folder in TABLES.items()}
ISOLATION_OPTIONS = {"without": (), "--isolate": ("--isolate", "--memory-limit=2GiB")}
STRICT = "--isolate=strict"  # is no column: what these runs show must be what those with --isolate show
ALL_OPTIONS = {**ISOLATION_OPTIONS, STRICT: (STRICT, "--memory-limit=2GiB")}
CALL_TIMEOUT_SECONDS = 3
CUDA_CALL_TIMEOUT_SECONDS = 10  # the first call of a process loads its kernels
RUNS_AT_ONCE = 2


@dataclass(frozen=True)
class Outcome:
    """One line of the table: how a run on a broken backend ends."""

    status: str
    verdict: str  # on the broken operation
    relu: str  # status of the correct operation

    def __str__(self) -> str:
        return f"{self.status}; {self.verdict}; relu {self.relu}"


def has_cuda() -> bool:
    return import_module("torch").cuda.is_available()


def list_backends(table: str) -> list[Path]:
    return sorted(path for path in FOLDERS[table].iterdir() if path.suffix in (".py", ".toml") and not path.stem.startswith("_"))


def select_tests(path: Path) -> str:
    """Return the expression for -k that selects the tests for a backend."""
    shown_by = _read_constant(path, "shown_by")
    if path.parent != FOLDERS["dishonest"] or shown_by:
        return f"{_read_constant(path, 'shown_of') or 'sigmoid'}.{shown_by or 'reference'} or relu.reference"
    return "(test_every_operation and sigmoid and not vjp and not unbiased) or relu.reference"


def find_effort(path: Path) -> str:
    """Return the smallest effort that shows what the backend does. One that is right in most calls states a larger one."""
    return _read_constant(path, "effort") or "smoke"


def _read_constant(path: Path, name: str) -> str:
    found = re.search(rf'^(?:# )?{name} = "(\w+)"', path.read_text(), re.MULTILINE)  # a comment in a .toml file
    return found[1] if found else ""


def list_arguments(paths: list[Path], isolation: str) -> list[str]:
    """Return the arguments of a run on these backends, all of which need the same effort."""
    selection = " or ".join(sorted({f"({select_tests(path)})" for path in paths}))
    (effort,) = {find_effort(path) for path in paths}
    on_cuda = any(path.parent == FOLDERS["cuda"] for path in paths)
    time_limit = CUDA_CALL_TIMEOUT_SECONDS if on_cuda else CALL_TIMEOUT_SECONDS
    options = [f"--effort={effort}", f"--time-limit={time_limit}", *ALL_OPTIONS[isolation]]
    return ["--pyargs", "spec_tests", *options, *(f"--backend={path}" for path in paths), "-k", selection]


def run_suite(path: Path, isolation: str) -> Outcome:
    """Return the outcome of a run of the suite on one backend."""
    run = run_hostile(*list_arguments([path], isolation))
    return summarize(run.status, run.text, run.facts)


def summarize(status: int | None, text: str, facts: list[dict[str, Any]]) -> Outcome:
    if status is None:
        return Outcome("the run hangs", "no verdict", "is not tried")
    if status == 4:
        (line,) = re.findall(r"^ERROR: (.*)$", text, re.MULTILINE)
        return Outcome("exit 4", f"refused: {_drop_local_details(line)}", "is not tried")
    ending = f"exit {status}" if status >= 0 else f"the run ends with {signal.Signals(-status).name}"
    sigmoid = [fact for fact in facts if fact["operation"] in ("sigmoid", "sigmoid_vjp")]
    if not sigmoid:
        return Outcome(ending, "no verdict", "is not tried")
    broken = [fact for fact in sigmoid if fact["status"] == "failed"]
    laws = [f["id"].partition(".")[2] for f in broken]
    others = " and others" if len(laws) > 1 else ""
    if broken:
        verdict = f"breaks {laws[0]}{others}: {_drop_local_details(broken[0]['reason'])}"
    elif not any(fact["status"] == "passed" for fact in sigmoid):
        verdict = f"not tried: {sigmoid[0]['reason'].removeprefix('Skipped: ')}"
    elif sum(fact.get("unexplained", 0) for fact in sigmoid):  # refusals that were not stated before
        verdict = "answers too little to conform"
    else:
        verdict = "conforms"
    verdict += "; it has imported the oracle" if "it has imported the oracle" in text else ""
    relu = {f["status"] for f in facts if f["operation"] == "relu"}
    return Outcome(ending, verdict, " and ".join(relu) or "is not tried")


def _drop_local_details(text: str) -> str:
    """Drop paths and numbers, which differ from machine to machine, and what the diagnosis found."""
    text = re.sub(r"^matches: .*", "elements are wrong", text)
    text = re.sub(r"it wrote b['\"].* after its last answer", "it wrote more after its last answer", text)  # as much as it shows
    text = re.sub(r"from '/\S*'", "from its own", re.sub(r"/\S*/(\w+\.(py|toml))", r"\1", text)).replace("--backend=", "")
    text = re.sub(r"(recursion limit from \d+ to) \d+", r"\1 a lower one", text)
    text = re.sub(r"tensor `\w+`", "a tensor", text)  # safetensors names either of two
    text = re.sub(r"tried to allocate \d+ bytes; \d+ of \d+ are in use", "too much is asked for", text)
    text = re.sub(r"(CUDA out of memory)\. .*", r"\1", text)
    text = re.sub(r" from <torch.cuda.Stream .*", "", text)
    text = re.sub(r"; built in are .*", "", text)
    text = re.sub(r"the result has shape \([\d, ]*\)", "the result has another shape", text)  # that of the call which is drawn
    return re.sub(r"\d+ of \d+ elements (are wrong|differ); the worst is .*", r"elements \1", text)


def format_block(path: Path) -> str:
    text = path.read_text()
    sentence = text.split('"""')[1] if path.suffix == ".py" else text.splitlines()[0].removeprefix("# ")
    lines = [f"{path.stem}: {sentence}", *(f"  {column:<10} {run_suite(path, column)}" for column in ISOLATION_OPTIONS)]
    return "\n".join(lines)


def _keep_block(kept: KeptRows, path: Path) -> str:
    """Return the block of a backend, which a measurement that was stopped may have kept."""
    if path.stem not in kept.rows:
        kept.add(path.stem, format_block(path))
    return str(kept.rows[path.stem])


def read_blocks(name: str) -> dict[str, str]:
    """Return the blocks of the committed table by the names of the backends."""
    text = table_path(name).read_text().strip() if table_path(name).exists() else ""
    return {block.partition(":")[0]: block for block in text.split("\n\n") if block}


def table_path(name: str) -> Path:
    return MEASURED / f"{name}.txt"


def main() -> None:
    """Write all tables, or the named parts of them, such as `breakages` or `dishonest/zeros`, with the backends that are new."""
    for name in FOLDERS if has_cuda() or sys.argv[1:] else [name for name in FOLDERS if name != "cuda"]:
        named = [argument.partition("/")[2] for argument in sys.argv[1:] if argument.partition("/")[0] == name]
        if sys.argv[1:] and not named:
            continue
        before = {} if "" in named or not named else read_blocks(name)
        paths = list_backends(name)
        new = [path for path in paths if path.stem not in before or path.stem in named]
        with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
            blocks = pool.map(partial(_keep_block, KeptRows(name)), new)
            before |= {path.stem: block for path, block in zip(new, blocks, strict=True)}
        table_path(name).write_text("\n\n".join(before[path.stem] for path in paths) + "\n")


if __name__ == "__main__":
    main()
