"""Try the restated bugs of the sample: which law catches each, after how many examples and seconds, and what names it.

python -m meta_tests.measure.real_bugs [BUG …] [--suite COMMIT] [--effort default] [--seed 1] [--no-causes]
[--write FILE]

--suite judges with the suite of another commit: that of the sampling rule gives the share that the page states first.
--write adds the results to FILE, beside those of the commit of the sampling rule, and writes the table beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import spec_tests
from spec_tests.deviations import OracleBackend
from spec_tests.implementation.backend import build_backend
from spec_tests.inputs.effort import using_effort
from spec_tests.specification.registry import operations

from ..real_bugs.restating import RealBug, list_real_bugs
from ..real_bugs.sample import INSIDE, Hit, count_verdicts, find_restated, read_hits
from ..support.in_process import attempt, trials_of
from ..support.paths import ROOT

PAGE = ROOT / "docs" / "would_it_have_been_caught.md"
START, END = "<!-- bugs: written by meta_tests.measure.real_bugs -->\n", "<!-- end of bugs -->\n"
OF_RULE, LATER = "the commit of the sampling rule", "later"
PARTS = ("meta_tests/real_bugs", "meta_tests/measure/real_bugs.py")  # what a suite of another commit gets from this one


@dataclass
class Outcome:
    """What the suite said of one bug."""

    id: str
    law: str = ""  # the required law that failed first, "" if none did
    dtype: str = ""
    examples: int = 0  # up to the first failure, or all that were tried
    cpu_seconds: float = 0.0
    cause: str = ""  # what a run of the failing law prints of the cause
    is_named: bool = False  # whether that describes the bug


def try_bug(bug: RealBug, effort: str, seed: int, *, causes: bool = True) -> Outcome:
    """Try the laws of the bug's operation in the order of a run, up to the first failure. `causes` asks for what a run prints."""
    outcome, start = Outcome(bug.id), time.process_time()
    under_test = build_backend(OracleBackend(bug.deviation), set(operations()))
    with using_effort(effort):
        for test, trial in trials_of(bug.deviation.operation, under_test):
            is_own = test.invariant.subject(trial.operation_name) == bug.deviation.operation
            if not is_own or test.invariant.level or not bug.deviation.shows_in(trial.dtype):
                continue
            violation = attempt(test, trial, seed)
            outcome.examples += trial.tally.examples + (violation is not None)
            if violation is not None:
                outcome.law, outcome.dtype = test.invariant.id_for(trial.operation_name), trial.dtype
                break
    outcome.cpu_seconds = round(time.process_time() - start, 2)
    if outcome.law and causes:
        outcome.cause = find_cause(bug, outcome, effort)
        outcome.is_named = any(f"/{name})" in outcome.cause for name in bug.names) or bool(bug.says and bug.says in outcome.cause)
    return outcome


def find_cause(bug: RealBug, outcome: Outcome, effort: str) -> str:
    """Return the words of the cause that a run of the failing law prints."""
    source = OracleBackend(bug.deviation)
    try:
        spec_tests.check(source, outcome.law, dtype=outcome.dtype, effort=effort, coverage="any")
    except AssertionError as failure:
        causes = getattr(failure, "causes", None)
        return str(causes[0].what).partition(", at ")[0] if causes else ""
    return ""


def run_with_suite(commit: str, arguments: list[str]) -> list[Outcome]:
    """Run this command with the suite of another commit, and with the sample and the bugs of this one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "suite"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(folder), commit], cwd=ROOT, check=True)
        try:
            for part in PARTS:
                target = folder / part
                if (ROOT / part).is_dir():
                    shutil.copytree(ROOT / part, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / part, target)
            output = Path(name) / "outcomes.json"
            command = [sys.executable, "-m", "meta_tests.measure.real_bugs", *arguments, "--outcomes", str(output)]
            subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, check=True)
            return [Outcome(**fields) for fields in json.loads(output.read_text())]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(folder)], cwd=ROOT, check=True)


def ask_git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def is_caught(hit: Hit, outcomes: dict[str, Outcome]) -> bool:
    return all(outcomes[name].law for name in find_restated(hit))


def format_table(results: dict[str, Any]) -> str:
    """Return the table of the page: the sample in numbers, then each restated bug with what the suite said."""
    hits = read_hits()
    bugs, inside = [hit for hit in hits if hit.is_bug], [hit for hit in hits if hit.verdict == INSIDE]
    lines = [f"{len(hits)} hits, {len(bugs)} bugs, {len(inside)} of them inside; the others, by reason:"]
    lines += [f"  {count:>3} {verdict}" for verdict, count in count_verdicts(hits).items() if verdict != INSIDE]
    for fields in results.values():
        outcomes = {entry["id"]: Outcome(**entry) for entry in fields["outcomes"]}
        caught = [hit for hit in inside if is_caught(hit, outcomes)]
        fresh = [hit for hit in inside if not hit.read_before]
        caught_fresh = [hit for hit in caught if not hit.read_before]
        lines += ["", f"suite of {fields['commit']} ({fields['what']}), effort {fields['effort']}, seed {fields['seed']}:"]
        lines += [
            f"  caught {len(caught)} of {len(inside)} inside; of those never read before, {len(caught_fresh)} of {len(fresh)}"
        ]
        named = sum(outcome.is_named for outcome in outcomes.values())
        with_causes = any(outcome.cause for outcome in outcomes.values())
        naming = f"; {named} of {len(outcomes)} restated bugs named" if with_causes else ""
        lines += [f"  caught {len(caught)} of all {len(bugs)} bugs{naming}", ""]
        for outcome in outcomes.values():
            lines += [f"  {outcome.id}", f"    {_describe(outcome)}"]
    return "\n".join(lines) + "\n"


def format_rows() -> str:
    """Return the rows of the page's table of bugs inside: the thread, a line of it, and the restated bug."""
    rows = []
    for hit in read_hits():
        if hit.verdict == INSIDE:
            label = "/".join(hit.link.split("/")[3:5]) + " " + hit.link.rsplit("/", 1)[1].removesuffix(".py")
            quote = hit.quote.replace("|", "\\|") + (" (read before)" if hit.read_before else "")
            rows.append(f"| [{label}]({hit.link}) | {quote} | {', '.join(f'`{name}`' for name in find_restated(hit))} |")
    return "\n".join(rows) + "\n"


def write_rows(page: Path) -> None:
    """Write the rows into the page."""
    before, _, rest = page.read_text().partition(START)
    page.write_text(before + START + format_rows() + END + rest.partition(END)[2])


def _describe(outcome: Outcome) -> str:
    cost = f"{outcome.examples} examples, {outcome.cpu_seconds:.1f} CPU s"
    if not outcome.law:
        return f"NOT CAUGHT in {cost}"
    named = f"; {'named' if outcome.is_named else 'not named'}: {outcome.cause}" if outcome.cause else ""
    return f"{outcome.law} in {outcome.dtype}, {cost}{named}"


def write_results(path: Path, commit: str, what: str, options: argparse.Namespace, outcomes: list[Outcome]) -> None:
    """Add the outcomes to the file, and write the table beside it. Those of a later commit replace those of an earlier one."""
    results = json.loads(path.read_text()) if path.exists() else {}
    stated = {"commit": commit, "what": what, "effort": options.effort, "seed": options.seed}
    results[commit if what == OF_RULE else LATER] = {**stated, "outcomes": [asdict(outcome) for outcome in outcomes]}
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    path.with_suffix(".txt").write_text(format_table(results))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", nargs="*", default=list(list_real_bugs()))
    parser.add_argument("--suite", metavar="COMMIT")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-causes", action="store_true", help="do not ask for the causes, which takes minutes")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--outcomes", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    settings = ["--effort", options.effort, "--seed", str(options.seed), *(["--no-causes"] if options.no_causes else [])]
    if options.suite:
        outcomes = run_with_suite(options.suite, [*options.bugs, *settings])
    else:
        outcomes = []
        for name in options.bugs:
            outcomes.append(try_bug(list_real_bugs()[name], options.effort, options.seed, causes=not options.no_causes))
            print(f"{name}\n  {_describe(outcomes[-1])}", flush=True)
    if options.outcomes:
        options.outcomes.write_text(json.dumps([asdict(outcome) for outcome in outcomes]))
    if options.write:
        commit = ask_git("rev-parse", "--short=7", options.suite or "HEAD")
        of_rule = ask_git("log", "--diff-filter=A", "--format=%H", "--", "meta_tests/real_bugs/sampling_rule.json")
        what = OF_RULE if of_rule.startswith(commit) else "a later commit"
        write_results(options.write, commit, what, options, outcomes)
        write_rows(PAGE)


if __name__ == "__main__":
    main()
