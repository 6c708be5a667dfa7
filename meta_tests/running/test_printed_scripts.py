"""Printed scripts are run in fresh processes, and show the failure: ten each day, other ones after a change of what judges.

Nightly those of all implementations with a bug and of all deviations are run, and daily those that a page shows.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spec_tests.deviations import catalogue
from spec_tests.report.script import build_script
from spec_tests.report.script_runs import check_scripts
from spec_tests.trials.written_script import WrittenScript

from ..support.docs_scripts import import_script
from ..support.in_process import WRONG, attempt, backend, trials_of
from ..support.paths import DOCS
from ..support.pytest_process import environment, python
from ..support.rotation import hash_judging_sources

DAILY = 10
FILES = {path.stem: path for path in WRONG}
SEEDS = (1, 2, 3)
NEEDS_ANOTHER_CALL = (  # a certain one of an earlier example, which was too large to keep, or which nothing points to
    "grouped_query_attention/mask-of-the-first-call",
    "linear/shape-of-the-largest-call",
    "rms_norm/eps-of-the-first-call",
    "silu/shape-of-the-largest-call",
)
CASES = (
    *FILES,
    *(name for name, found in catalogue().items() if found.kind != "arithmetic" and name not in NEEDS_ANOTHER_CALL),
)
LIMIT_SECONDS = 600.0  # of one process of scripts, a safety net
SHOWS = "it shows the failure|it does not show the failure: it raises|each answer is right, as it says|an answer is wrong here"
SAYS_WHY_NOT = "# no script: "


def list_due_cases() -> list[str]:
    """Return the cases that are due today, in the order of a hash."""
    return sorted(CASES, key=lambda case: zlib.crc32(f"{hash_judging_sources()} {case}".encode()))[:DAILY]


def print_script(case: str) -> tuple[WrittenScript | None, str]:
    """Return the script that is printed for the first failure which a law of the case finds, and its text.

    The text is "" if no law fails, and there is no script if the text says why.
    """
    if case in FILES:
        wrong = backend(str(FILES[case]))
        operation, laws = case.partition("__")[0], (wrong.source.caught_by,)
    else:
        wrong, operation, laws = backend(f"deviation:{case}"), catalogue()[case].operation, catalogue()[case].caught_by
    for seed in SEEDS:
        for test, trial in trials_of(operation, wrong):
            if test.invariant.id_for(trial.operation_name) in laws and attempt(test, trial, seed):
                failure = trial.tally.failure
                assert failure is not None
                text = build_script(trial, failure, case)
                return (replace(trial.tally.scripts[-1], text=text) if trial.tally.scripts else None), text
    return None, ""


def find_misleading(cases: Sequence[str], framework: str) -> list[str]:
    """Return what the scripts of these cases say that do not show the failure. They are run in one fresh process."""
    printed = {case: print_script(case) for case in cases}
    scripts = {case: script for case, (script, _) in printed.items() if script is not None}
    assert all(text == "" or text.startswith(SAYS_WHY_NOT) for case, (_, text) in printed.items() if case not in scripts)
    said = dict(zip(scripts, check_scripts([*scripts.values()], framework, "", LIMIT_SECONDS), strict=True))
    return [f"{said[case]}\n{printed[case][1]}" for case in scripts if not re.match(SHOWS, said[case].removeprefix(f"{case}: "))]


def find_framework(case: str) -> str:
    return backend(str(FILES[case])).framework.name if case in FILES else "numpy"


@pytest.mark.parametrize("case", list_due_cases())
def test_a_printed_script_shows_the_failure(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # of large arrays
    assert find_misleading([case], find_framework(case)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("operation", sorted({found.operation for found in catalogue().values()}))
def test_every_printed_script_of_an_operation_shows_its_failure(
    operation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    files = [case for case in FILES if case.partition("__")[0] == operation]
    known = [case for case in CASES if case not in FILES and catalogue()[case].operation == operation]
    assert find_misleading(known, "numpy") == []
    for case in files:
        assert find_misleading([case], find_framework(case)) == []


VERDICTS = {verdict.name: verdict for verdict in import_script("five_verdicts").VERDICTS}
ON_A_PAGE = re.findall(
    r"^to see it without this suite:\n((?:  .*\n)+)", (DOCS / "guides" / "verdict.md").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.parametrize("name", VERDICTS)
def test_a_script_that_a_page_shows_is_wrong_in_a_fresh_process(name: str, tmp_path: Path) -> None:
    scripts = [script for script in ON_A_PAGE if f"import_module('{name}')" in script]
    (tmp_path / f"{name}.py").write_text(import_script("five_verdicts").format_code(VERDICTS[name]))
    for script in scripts:
        text = "\n".join(line.removeprefix("  ") for line in script.splitlines())
        (tmp_path / "shown.py").write_text(re.sub(r"^print\((.*)\)$", r"print(repr((\1).tolist()))", text, flags=re.MULTILINE))
        done = python(tmp_path, "shown.py", env=environment())
        truths = [np.array(eval(truth)) for truth in re.findall("# the truth: (.*)", text)]
        answers = [np.array(eval(answer)) for answer in done.stdout.splitlines()]
        raised = done.stderr.strip().splitlines()[-1:]
        pairs = zip(answers, truths, strict=True) if not raised else ()
        assert raised or any(a.shape != b.shape or not np.allclose(a, b, rtol=1e-6, atol=0) for a, b in pairs), text


def test_the_page_shows_a_script_for_each_failure() -> None:
    assert len(ON_A_PAGE) >= len(VERDICTS)
