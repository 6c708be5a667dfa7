"""Run the README's commands on fresh Debian systems: `python -m meta_tests.measure.strange_machines`

It needs Linux, root, Debian's sources in apt, and the packages debootstrap, exfat-fuse and exfatprogs. The systems stay in
--folder, which needs 5 GB. The files of the last commit are tried. What pip is told on this machine holds in the systems, too.
Where pip finds a build of PyTorch for CPUs, both commands are run, the second one with the tests of TESTS alone. Elsewhere the
first one is run, on NumPy. The exit status is 1 if a command ends otherwise than is written here.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ..support.paths import ROOT
from ..support.strange_system import StrangeSystem, find_obstacle, make_disk_that_ignores_case, make_system

SUITES = ("bookworm", "trixie")  # with Python 3.11 and 3.13
TESTS = "meta_tests/oracle/test_oracle_functions.py meta_tests/running/test_exit_status.py meta_tests/project/test_house_rules.py"
READ_ONLY = 'mount --bind "$INSIDE$CHECKOUT" "$INSIDE$CHECKOUT"; mount -o remount,bind,ro "$INSIDE$CHECKOUT"'
TEST, REMOVE = ".venv/bin/pytest", ".venv/bin/pip uninstall --quiet --yes"
SMALL = f"{TEST} --backend=numpy-cpu --effort=smoke -k rms_norm.reference"
NO_ENSUREPIP, NO_JINJA = "rm -r .venv /usr/lib/python3*/ensurepip", f"{REMOVE} jinja2 || true"  # it comes with PyTorch alone
PROBE = "python3 -m venv .probe && .probe/bin/pip install --quiet --dry-run --no-deps --report - torch -c constraints.txt"
HAS_CPU_BUILD = PROBE + """ | grep -q '"version": "[^"]*+cpu"'"""
PASSED = r"\b\d+ passed"


@dataclass(frozen=True)
class Step:
    """A command in a system, and how it has to end."""

    name: str
    command: str
    said: str  # a regular expression that a line of its output matches
    code: int = 0
    keep: str = ""
    prepare: str = ":"
    mount: str = ":"


def read_commands() -> list[str]:
    """Return both commands of the README, as they are printed."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Two commands")[2].partition("\n## ")[0]
    return [" ".join(block.split()).replace("\\ ", "") for block in re.findall(r"(?:^ {4}.*\n)+", section, re.MULTILINE)]


def list_absences(first: str) -> list[Step]:
    """Return the steps in which something is missing before the first command has run, or after it."""
    again = re.sub(r".*&& ", "", first)
    old = """rm -r .venv; sed -i 's/^requires-python = .*/requires-python = ">=3.99"/' pyproject.toml"""
    alone = "python3 -m venv .venv && .venv/bin/pip install --no-deps -e ."  # an old pip tries each version of the dependencies
    without_pip = first.replace("-m venv", "-m venv --without-pip")
    return [
        Step("Debian's python3 without python3-venv", first, "you need to install the python3-venv", 1, prepare=NO_ENSUREPIP),
        Step("a Python that is too old", alone, r"requires a different Python: .* not in '>=3\.99'", 1, prepare=old),
        Step("an environment without pip", without_pip, "pip: not found", 127, prepare="rm -r .venv"),
        Step("an environment without the framework", f"{TEST} --backend=jax-cpu", "^ERROR: .*'jax', which is not installed", 4),
        Step("an environment without pytest-xdist", again, "unrecognized arguments: -n", 4, prepare=f"{REMOVE} pytest-xdist"),
        Step("an environment without Jinja2", f"{SMALL} --report=seen", r"pip install 'spec-tests\[report\]'", prepare=NO_JINJA),
        Step("an environment without the developers' tools", ".venv/bin/nox -s tests", "nox: not found", 127),
        Step("a report in a folder without space", f"{SMALL} --report=/tmp/seen", "^ERROR: --report=.*No space left on", 4),
        Step("a report in a read-only folder", f"{SMALL} --report=$HOME/seen", "^ERROR: --report=.*Read-only file system", 4),
        Step("a read-only checkout", SMALL, PASSED, mount=READ_ONLY),
        Step("a terminal that has ASCII alone", f"PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {SMALL}", PASSED),
        Step("a backend in a process of its own", f"{SMALL} --isolate", PASSED),
    ]


def find_conflicts() -> list[str]:
    """Return the requirements of PyPI's own build of PyTorch, for Linux, that the pins of constraints.txt do not satisfy.

    A machine whose pip finds a build for CPUs does not show them, since that build requires less.
    """
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, (line for line in lines if line[:1] != "#"))}
    versions = {name: next(iter(pin.specifier)).version for name, pin in pins.items()}
    ask = ["install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps", "--report", "-", f"torch==={versions['torch']}"]
    done = subprocess.run([sys.executable, "-m", "pip", *ask], check=True, capture_output=True, text=True)
    required = map(Requirement, json.loads(done.stdout)["install"][0]["metadata"]["requires_dist"])
    on_linux = {"platform_system": "Linux", "sys_platform": "linux", "extra": ""}
    return [
        f"torch {versions['torch']} requires {each}, and {name}=={versions[name]} is pinned"
        for each in required
        if (name := canonicalize_name(each.name)) in versions
        and (each.marker is None or each.marker.evaluate(on_linux))
        and versions[name] not in each.specifier
    ]


class Report:
    """The lines that are printed, and the names of the steps that ended otherwise than they have to."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def run(self, system: StrangeSystem, step: Step) -> StrangeSystem:
        """Run a step and print how it ended. Return the system that it leaves, if that is kept."""
        start = time.monotonic()
        ended = system.run(step.command, keep=step.keep, prepare=step.prepare, mount=step.mount)
        found = [line for line in ended.lines if re.search(step.said, line)]
        is_right = ended.code == step.code and bool(found) and "Traceback (most recent call last)" not in ended.text
        if not is_right:
            self.wrong.append(step.name)
        shown = found[-1:] if is_right else ended.lines[-40:]
        print(f"{'right' if is_right else 'WRONG'}  {step.name}: exit status {ended.code}, {time.monotonic() - start:.0f} s")
        print(*(f"       {line.strip('= ')}" for line in shown), sep="\n", flush=True)
        return system.on_top_of(step.keep) if step.keep else system


def check_out(system: StrangeSystem, name: str) -> StrangeSystem:
    """Return the system with the files of the last commit, which are kept under this name or stand on the system's disk."""
    files = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    ended = system.run("tar --extract --no-same-permissions", keep=name, stdin=files)
    if ended.code:
        raise SystemExit(f"the files could not be written into the system: {ended.text.strip()}")
    return system.on_top_of(name)


def try_system(suite: str, folder: Path, effort: str, report: Report) -> None:
    """Run both commands in a fresh system, and what they print where something is missing."""
    checked_out = check_out(make_system(suite, folder), f"{suite}-files")
    print(f"\nDebian {suite}, {checked_out.run('python3 --version').text.strip()}")
    first, second = read_commands()
    has_torch = checked_out.run(HAS_CPU_BUILD).code == 0
    if not has_torch:
        first = first.replace("torch,", "").replace("torch-cpu", "numpy-cpu")
    whole = f"{first} --effort={effort}"
    after_first = report.run(checked_out, Step(f"the first command: {whole}", whole, PASSED, keep=f"{suite}-first"))
    for step in list_absences(first):
        report.run(after_first, step)
    if has_torch:
        part = second.replace("nox -s tests", f"nox -s lint types imports tests -- {TESTS} -n 2")
        report.run(checked_out, Step(f"the second command, with few tests: {part}", part, PASSED))


def try_folder_that_ignores_case(folder: Path, report: Report) -> None:
    """Run the suite in a folder in which names that differ in case only are one name."""
    empty = make_system(SUITES[0], folder)
    system = check_out(StrangeSystem(folder, empty.layers, make_disk_that_ignores_case(folder)), "on-disk")
    print(f"\nDebian {SUITES[0]}, the checkout on exFAT")
    environment = "/var/tmp/environment"  # exFAT has no symbolic links, which a virtual environment needs
    install = f"python3 -m venv {environment} && {environment}/bin/pip install --quiet -e '.[parallel,report]' -c constraints.txt"
    run = f"{environment}/bin/pytest --backend=numpy-cpu --effort=smoke -n 2 --report=Seen"
    report.run(system, Step("the folder ignores case", "test -e readme.MD && echo it does", "it does"))
    report.run(system, Step(f"the first command: {run}", f"{install} && {run}", PASSED))
    report.run(system, Step("the page of its report", "head -n 1 SEEN/Report.html", "(?i)doctype html"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "strange", help="where the systems are kept")
    parser.add_argument("--effort", default="default", help="of the first command")
    parser.add_argument("names", nargs="*", default=[*SUITES, "exfat"], metavar="NAME", help=f"of {', '.join(SUITES)}, exfat")
    options = parser.parse_args()
    if obstacle := find_obstacle():
        print(f"ERROR: {obstacle}", file=sys.stderr)
        return 4
    options.folder.mkdir(parents=True, exist_ok=True)
    report = Report()
    report.wrong += find_conflicts()
    for name in options.names:
        if name == "exfat":
            try_folder_that_ignores_case(options.folder.resolve(), report)
        elif name in SUITES:
            try_system(name, options.folder.resolve(), options.effort, report)
        else:
            parser.error(f"there is no system {name!r}; there are {', '.join(SUITES)}, exfat")
    print(f"\n{len(report.wrong)} steps ended otherwise than they have to" + "".join(f"\n  {name}" for name in report.wrong))
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
