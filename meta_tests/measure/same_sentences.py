"""Compare what runs with one seed say on an idle machine and beside busy processes: every field of their reports must be equal.

Twelve backends are tried: right, wrong, odd and slow ones. Each is run alone, beside processes that do nothing but work, and with
one worker of pytest-xdist. The records of report.jsonl must be equal but for what names the run: when it started, its command,
its options, its seconds, and hashes of these.

python -m meta_tests.measure.same_sentences [NAME …] [--busy 8] [--effort default] [--seed 1] [--write] [--new]

--write adds each row to docs/measured/same_sentences.txt as soon as it is computed; --new leaves out backends that have one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..support.paths import BACKENDS, MEASURED, ROOT

FILE = MEASURED / "same_sentences.txt"
OF_THE_RUN = frozenset(
    {"started", "command", "seconds", "options", "id_of_run", "sha256", "before"}
)  # fields that differ in any two runs
NUMPY = "import time\nimport numpy as np\n\nframework = 'numpy'\ndtypes = ('float32', 'float16')\n"
NORM = """
def rms_norm(x, weight, *, eps):
    h = x.astype(np.float64)
    y = h / np.sqrt(np.mean(np.square(h), -1, keepdims=True) + eps) * weight
    {change}
    return y.astype(x.dtype)
"""
WRITTEN: Mapping[str, str] = MappingProxyType(
    {
        "no_equation": NORM.format(change="y = y * (1 + 0.05 * np.sin(1e5 * h))"),
        "columns": NORM.format(change="y[..., 6:] = 0"),
        "other_exponent": NORM.format(change="y = np.sign(y) * np.abs(y) ** 1.5"),
        "slow_and_right": NORM.format(change="time.sleep(0.02)"),
        "slow_and_wrong": NORM.format(change="time.sleep(0.02); y[..., 6:] = 0"),
    }
)
TRIED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {  # the value of --backend, and which laws are tried
        "right": ("numpy-cpu", "rms_norm or softmax"),
        "known_bug": ("deviation:softmax/axis-ignored", "softmax"),
        "known_bug_of_masks": ("deviation:scaled_dot_product_attention/mask-transposed", "scaled_dot_product_attention"),
        "six_bugs": (str(BACKENDS / "student" / "six_bugs.py"), "gelu or linear or rope"),
        "raises": (str(BACKENDS / "broken" / "raises.py"), "sigmoid or softmax"),
        "nan": (str(BACKENDS / "broken" / "returns_nan.py"), "sigmoid or softmax"),
        "other_shape": (str(BACKENDS / "broken" / "returns_a_wrong_shape.py"), "sigmoid or softmax"),
        **{name: (f"{name}.py", "rms_norm") for name in WRITTEN},
    }
)


def run(folder: Path, name: str, effort: str, seed: int, *options: str) -> tuple[list[Any], float]:
    """Run a backend and return the records of its report without what names the run, and the seconds."""
    report, (text, laws) = folder / f"report{len(list(folder.glob('report*')))}", TRIED[name]
    command = [sys.executable, "-m", "pytest", "--pyargs", "spec_tests", f"--backend={text}", "-k", laws, f"--effort={effort}"]
    command += [f"--hypothesis-seed={seed}", f"--report={report}", "-q", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    start = time.monotonic()
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    lines = (report / "report.jsonl").read_text().splitlines()
    cleaned = (json.loads(line.replace(str(report), "REPORT")) for line in lines)
    return sorted(map(clean, cleaned), key=json.dumps), time.monotonic() - start


def clean(record: Any) -> Any:
    """Return a record without the fields that name the run."""
    if isinstance(record, dict):
        return {key: clean(value) for key, value in record.items() if key not in OF_THE_RUN}
    return [clean(item) for item in record] if isinstance(record, list) else record


def differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield where two records differ."""
    if type(before) is type(after) is dict:
        for key in dict.fromkeys([*before, *after]):
            yield from differences(before.get(key), after.get(key), f"{place}.{key}")
    elif type(before) is type(after) is list and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{place}[{number}]")
    elif json.dumps(before) != json.dumps(after):
        yield f"{place}: {str(before)[:200]} -> {str(after)[:200]}"


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Let so many processes work beside the block."""
    working = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in working:
            process.kill()
            process.wait()


def compare(name: str, options: argparse.Namespace) -> str:
    """Return the row of a backend."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file, change in WRITTEN.items():
            (folder / f"{file}.py").write_text(NUMPY + change)
        alone, seconds = run(folder, name, options.effort, options.seed)
        with busy(options.busy):
            beside, slower = run(folder, name, options.effort, options.seed)
        worker, _ = run(folder, name, options.effort, options.seed, "-n", "1")
    causes = {cause["what"] for record in alone for cause in record.get("causes") or ()}
    found = [f"beside busy processes {place}" for place in differences(alone, beside)]
    found += [f"with -n 1 {place}" for place in differences(alone, worker)]
    verdict = f"{len(found)} DIFFERENCES: {'; '.join(found[:5])}" if found else "equal"
    return f"{name:<24} {len(alone):>3} records, {len(causes)} causes, {seconds:.0f} s and {slower:.0f} s: {verdict}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TRIED)}")
    parser.add_argument("--busy", type=int, default=8, help="processes")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--new", action="store_true")
    options = parser.parse_args()
    rows = {line.split()[0]: line for line in FILE.read_text().splitlines()} if FILE.exists() and options.write else {}
    for name in options.names or TRIED:
        if options.new and name in rows:
            continue
        rows[name] = compare(name, options)
        print(rows[name], flush=True)
        if options.write:
            FILE.write_text("".join(f"{rows[name]}\n" for name in TRIED if name in rows))
    return int(any("DIFFERENCES" in row for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
