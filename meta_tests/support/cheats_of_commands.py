"""Cheats through what surrounds a run: scores, reports that are resumed or merged, campaigns, and files of other formats.

Each function writes its files into a folder, runs the commands that a reader would, and returns the last one. Its docstring is
the sentence of the table that `meta_tests/measure/cheated_commands.py` writes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from spec_tests.campaign.plan import read_plan
from spec_tests.report import DATA

from .paths import BACKENDS, ROOT
from .pytest_process import NUMPY, environment, write

LIMIT_SECONDS = 120
Done = subprocess.CompletedProcess[str]
SCORE = ("score", "kernel.py", "relu", "--effort=smoke", "--seed=5", "--no-causes")
LAWS = ("--effort=smoke", "--hypothesis-seed=1", "--isolate", "-k", "relu")
ZEROS = "\n\ndef relu(x):\n    return np.zeros_like(x)\n"
SIX = "\n\ndef relu(x):\n    return np.minimum(np.maximum(x, 0), np.float32(6))\n"
RIGHT = "\n\ndef relu(x):\n    return np.maximum(x, 0)\n"
FORGED = "1.000  relu\\n  skill 1.000, laws 1.000, coverage 1.000, precision 1.000, causes 0\\n"


def run(folder: Path, *words: str, module: str = "spec_tests") -> Done:
    """Run `spec-tests WORDS`, or another module, in a folder. A command that does not end in time has the status 124."""
    command = [sys.executable, "-m", module, *words]
    try:
        return subprocess.run(
            command, cwd=folder, env=environment(ROOT), capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "")


def judge(folder: Path, *words: str) -> Done:
    return run(folder, "-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests", *words, module="pytest")


def score(folder: Path, code: str) -> Done:
    write(folder, kernel=NUMPY + code)
    return run(folder, *SCORE)


# --- scores -----------------------------------------------------------------------------------------------------------


def prints_a_score(folder: Path) -> Done:
    """Print a score of 1 to every file that it has open and to the terminal, in each call and at its end."""
    code = f"""
import atexit, os
def forge():
    for place in ("/dev/tty", "/dev/stdout", "/proc/self/fd/2", *range(1, 9)):
        try:
            os.write(place if isinstance(place, int) else os.open(place, os.O_WRONLY), b"{FORGED}")
        except OSError:
            pass
atexit.register(forge)
def relu(x):
    forge()
    return np.zeros_like(x)
"""
    return score(folder, code)


def kills_its_parent(folder: Path) -> Done:
    """Send SIGKILL to its parent in each call."""
    kills = "    if os.getppid() > 1:\n        os.kill(os.getppid(), signal.SIGKILL)\n    return np.zeros_like(x)\n"
    return score(folder, f"\nimport os, signal\n\ndef relu(x):\n{kills}")


def replaces_its_own_file(folder: Path) -> Done:
    """Write right code over its own file when it is imported, and go on with zeros."""
    return score(folder, f"\nopen(__file__, 'w').write({NUMPY + RIGHT!r})\n" + ZEROS)


def is_right_in_few_calls(folder: Path) -> Done:
    """Be right in every fourth call, and return a copy in all others."""
    return score(
        folder, "\ncalls = []\ndef relu(x):\n    calls.append(1)\n    return x.copy() if len(calls) % 4 else np.maximum(x, 0)\n"
    )


def answers_by_chance(folder: Path) -> Done:
    """Return its argument or zero, each as a coin falls."""
    return score(
        folder, "\ndef relu(x):\n    return np.where(np.random.default_rng(3).random(x.shape) < 0.5, x, 0).astype(x.dtype)\n"
    )


def answers_nothing_but_trivial_cases(folder: Path) -> Done:
    """Refuse all but what a copy of the argument answers rightly."""
    refuses = "    if np.any(~(x >= 0)):\n        raise NotImplementedError('positive numbers only')\n"
    return score(folder, f"\ndef relu(x):\n{refuses}    return x.copy()\n")


def states_a_domain_of_nothing(folder: Path) -> Done:
    """State a domain in which a copy is right, and be wrong elsewhere."""
    return score(folder, "\ndomain = {'relu': {'d': [1]}}\ndef relu(x):\n    return np.zeros_like(x)\n")


def is_right_in_the_first_answers(folder: Path) -> Done:
    """Be right in ten calls, and return the first of these answers where its shape fits."""
    code = """
kept = {}
calls = []
def relu(x):
    calls.append(1)
    if len(calls) <= 10:
        kept.setdefault(x.shape, np.maximum(x, 0))
        return np.maximum(x, 0)
    return kept.get(x.shape, x).copy()
"""
    return score(folder, code)


def states_what_it_earns(folder: Path) -> Done:
    """State precision, levels, laws and a score of its own in the file, in the words of a verdict."""
    stated = "precision = 'fused'\nskill = 1.0\nvalue = 1.0\ncoverage = 1.0\ncauses = ()\nstatus = 'passed'\n"
    return score(folder, f"\n{stated}" + ZEROS)


# --- reports ------------------------------------------------------------------------------------------------------------


def report(folder: Path, code: str = SIX) -> Path:
    """Write a report of a run, and return its data."""
    write(folder, mine=NUMPY + code)
    judge(folder, "--backend=mine.py", "--report=out", *LAWS)
    return folder / "out" / DATA


def forge(data: Path) -> None:
    """Make every verdict of a report one of success."""
    data.write_text(data.read_text().replace('"status": "failed"', '"status": "passed"'))


def edits_a_report_and_reads_it(folder: Path) -> Done:
    """Turn the failures of a report into successes, and make the table of it."""
    forge(report(folder))
    return run(folder, "out", module="spec_tests.report")


def edits_a_report_and_resumes(folder: Path) -> Done:
    """Turn the failures of a report that was cut into successes, and go on with it."""
    data = report(folder)
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-1]))
    forge(data)
    return judge(folder, "--backend=mine.py", "--report=out", "--resume", *LAWS)


def takes_failures_out_and_resumes(folder: Path) -> Done:
    """Take the failures and the last line out of a report, and go on with it."""
    data = report(folder)
    lines = data.read_text().splitlines(keepends=True)[:-1]
    data.write_text("".join(line for line in lines if '"status": "failed"' not in line))
    return judge(folder, "--backend=mine.py", "--report=out", "--resume", *LAWS)


def resumes_with_other_code(folder: Path) -> Done:
    """Cut the report of right code, and go on with wrong code under the same name."""
    data = report(folder, RIGHT)
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-1]))
    write(folder, mine=NUMPY + SIX)
    return judge(folder, "--backend=mine.py", "--report=out", "--resume", *LAWS)


def joins_the_ends_of_two_reports(folder: Path) -> Done:
    """Put the last line of a report of right code under the lines of wrong code."""
    wrong = report(folder).read_text().splitlines(keepends=True)
    shutil.rmtree(folder / "out")
    data = report(folder, RIGHT)
    data.write_text("".join([*wrong[:-1], data.read_text().splitlines(keepends=True)[-1]]))
    return run(folder, "out", module="spec_tests.report")


# --- campaigns ----------------------------------------------------------------------------------------------------------


def plan(folder: Path, wrong: str = SIX) -> Path:
    """Make a campaign of right and of wrong code, and do its work."""
    write(folder, right=NUMPY + RIGHT, wrong=NUMPY + wrong)
    run(folder, "plan", "right.py", "wrong.py", "--effort=smoke", "--seeds=1", "-o", "campaign")
    run(folder, "work", "campaign")
    return folder / "campaign"


def find_items(campaign: Path) -> dict[str, Path]:
    """Return the folder of an item of each backend."""
    return {item.backend: campaign / item.name for item in read_plan(campaign).items}


def passes_another_s_report_off(folder: Path) -> Done:
    """Put the report of right code in the place of that of wrong code."""
    items = find_items(plan(folder))
    shutil.copy(items["right.py"] / DATA, items["wrong.py"] / DATA)
    return run(folder, "merge", "campaign")


def takes_an_item_out_of_the_plan(folder: Path) -> Done:
    """Take the item of wrong code out of the plan after the work, with its report."""
    campaign = plan(folder)
    shutil.rmtree(find_items(campaign)["wrong.py"])
    return run(folder, "merge", "campaign")


def works_on_an_easier_domain(folder: Path) -> Done:
    """Judge wrong code where a copy is right, with --domain, and put this report in the place of the item's."""
    item = find_items(plan(folder, "\n\ndef relu(x):\n    return x.copy()\n"))["wrong.py"]
    judge(folder, "--backend=wrong.py", "--report=easy", '--domain={"relu": {"d": [0]}}', *LAWS)
    shutil.copy(folder / "easy" / DATA, item / DATA)
    return run(folder, "merge", "campaign")


def edits_the_plan(folder: Path) -> Done:
    """Ask for more examples in the plan after the work."""
    campaign = plan(folder)
    for path in campaign.glob("*.json"):
        path.write_text(path.read_text().replace('"smoke"', '"thorough"'))
    return run(folder, "merge", "campaign")


def writes_a_report_from_within(folder: Path) -> Done:
    """Have wrong code write an empty file over each report that it finds, in each call."""
    loop = "    for path in pathlib.Path(__file__).parent.rglob('*.jsonl'):\n        path.write_text('')\n"
    writes = f"\nimport pathlib\ndef relu(x):\n{loop}"
    plan(folder, writes + "    return np.zeros_like(x)\n")
    return run(folder, "merge", "campaign")


# --- files of other formats -----------------------------------------------------------------------------------------------


def is_a_pipe(folder: Path) -> Done:
    """Be a pipe, which nobody writes to, in the place of a file."""
    os.mkfifo(folder / "mine.py")
    return judge(folder, "--backend=mine.py", *LAWS)


def is_a_document_without_end(folder: Path) -> Done:
    """Be a JSON document of a hundred thousand nested lists."""
    (folder / "mine.json").write_text("[" * 100_000 + "]" * 100_000)
    return judge(folder, "--backend=mine.json", *LAWS)


def solve(folder: Path, **changes: object) -> Done:
    """Judge a solution of FlashInfer-Bench with these entries in place of its own."""
    shutil.copytree(BACKENDS / "imported" / "flashinfer_bench" / "rms_norm", folder / "task")
    solution = folder / "task" / "right.json"
    solution.write_text(json.dumps(json.loads(solution.read_text()) | changes))
    return judge(folder, "--backend=task/right.json", "--effort=smoke", "--hypothesis-seed=1", "-k", "rms_norm.reference")


def writes_its_sources_outside(folder: Path) -> Done:
    """Be a solution one of whose sources has a path that leads out of its folder."""
    return solve(folder, sources=[{"path": "../../conftest.py", "content": "import os\nos._exit(0)\n"}])


def names_an_entry_point_outside(folder: Path) -> Done:
    """Be a solution whose entry point is a file of the system."""
    spec = {"language": "python", "entry_point": "/usr/lib/python3/os.py::run", "destination_passing_style": True}
    return solve(folder, spec=spec)


def has_two_sources_of_one_name(folder: Path) -> Done:
    """Be a solution with two sources of one path, of which a reader sees the right one and Python the last one."""
    run_it = "def run(hidden_states, weight, output):\n    output"
    right = f"{run_it}.copy_(hidden_states)\n"
    wrong = f"{run_it}.zero_()\n"
    return solve(folder, sources=[{"path": "main.py", "content": right}, {"path": "./main.py", "content": wrong}])


TORCH = "import torch\n\nframework = 'torch'\ndtypes = ('float32',)\n\n\n"


def exits_where_a_class_is_derived(folder: Path) -> Done:
    """Have a metaclass that raises SystemExit whenever its class is called, compared or printed."""
    methods = "".join(
        f"    def {name}(cls, *a, **k):\n        raise SystemExit(0)\n\n" for name in ("__call__", "__eq__", "__repr__")
    )
    meta = f"class Meta(type):\n{methods}    __hash__ = type.__hash__\n\n\n"
    body = "    def forward(self, x):\n        return torch.relu(x)\n"
    (folder / "mine.py").write_text(f"{TORCH}{meta}class ReLU(torch.nn.Module, metaclass=Meta):\n{body}")
    return judge(folder, "--backend=mine.py", *LAWS)


CHEATS: Mapping[str, Callable[[Path], Done]] = MappingProxyType(
    {
        cheat.__name__: cheat
        for cheat in (
            prints_a_score, kills_its_parent, replaces_its_own_file, is_right_in_few_calls, answers_by_chance,
            answers_nothing_but_trivial_cases, states_a_domain_of_nothing, edits_a_report_and_reads_it,
            edits_a_report_and_resumes, takes_failures_out_and_resumes, resumes_with_other_code, joins_the_ends_of_two_reports,
            passes_another_s_report_off, takes_an_item_out_of_the_plan,
            writes_a_report_from_within, is_a_pipe, is_a_document_without_end,
            exits_where_a_class_is_derived, is_right_in_the_first_answers, states_what_it_earns, works_on_an_easier_domain,
            edits_the_plan, writes_its_sources_outside, names_an_entry_point_outside,
            has_two_sources_of_one_name,
        )
    }
)  # fmt: skip
