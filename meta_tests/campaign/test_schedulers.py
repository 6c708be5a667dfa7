"""Tests of examples/campaign: the commands that schedulers run are run here, as their shells would."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import environment
from .campaigns import make_campaign

EXAMPLES = ROOT / "examples" / "campaign"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="the examples are for bash"),
]


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """A folder with the plan of a small campaign, and the command `spec-tests` of this checkout in `bin`."""
    make_campaign(tmp_path, "--operation=relu")
    command = tmp_path / "bin" / "spec-tests"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spec_tests "$@"\n')
    command.chmod(0o755)
    agent = tmp_path / "bin" / "buildkite-agent"  # what it downloads is here already
    agent.write_text("#!/bin/sh\nexit 0\n")
    agent.chmod(0o755)
    return tmp_path


def shell(folder: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "-euo", "pipefail", "-c", command]
    return subprocess.run(
        words, cwd=folder, env=environment(ROOT, PATH=path, **variables), capture_output=True, text=True, check=False
    )


def load(name: str) -> Any:
    return pytest.importorskip("yaml").safe_load((EXAMPLES / name).read_text())


def check(merged: subprocess.CompletedProcess[str]) -> None:
    assert merged.returncode == 1, merged.stderr  # one of the two backends is wrong
    assert "wrong: 1 of 1 operations deviates" in merged.stdout
    assert "4 items, " in merged.stdout


SBATCH = """
import os, subprocess, sys
options = [word for word in sys.argv[1:] if word.startswith("--") and sys.argv.index(word) < sys.argv.index(os.environ["SCRIPT"])]
script = sys.argv[sys.argv.index(os.environ["SCRIPT"]):]
count = next(word for word in options if word.startswith("--array=1-")).rpartition("-")[2]
for task in range(1, int(count) + 1):
    given = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": count}
    subprocess.run(["bash", *script], env=given, check=True)
"""


@pytest.mark.rotating
def test_slurm(planned: Path) -> None:
    """A stub takes the place of sbatch: it runs the tasks of an array one after another, as Slurm starts them."""
    stub = planned / "bin" / "sbatch"
    stub.write_text(f"#!{sys.executable}{SBATCH}")
    stub.chmod(0o755)
    (planned / "slurm.sh").write_text((EXAMPLES / "slurm.sh").read_text())
    lines = shell(planned, "spec-tests shares campaign 3 --format=slurm").stdout
    assert lines == "sbatch --array=1-3 --cpus-per-task=1 slurm.sh campaign\n"
    done = shell(planned, lines, SCRIPT="slurm.sh")
    assert done.returncode == 0, done.stderr
    check(shell(planned, "spec-tests merge campaign"))


@pytest.mark.rotating
def test_processes(planned: Path) -> None:
    check(shell(planned, f"bash {EXAMPLES / 'processes.sh'} 2"))


@pytest.mark.nightly
def test_buildkite(planned: Path) -> None:
    shares, merging = load("buildkite.yml")["steps"]
    for job in range(shares["parallelism"]):
        count = {"BUILDKITE_PARALLEL_JOB": str(job), "BUILDKITE_PARALLEL_JOB_COUNT": str(shares["parallelism"])}
        if job < 4:  # later shares of twenty have no item
            done = shell(planned, "\n".join(shares["commands"]), **count)
            assert done.returncode == 0, done.stderr
    check(shell(planned, "\n".join(merging["commands"])))


@pytest.mark.nightly
def test_github(planned: Path) -> None:
    jobs = load("github.yml")["jobs"]
    (work,) = (step for step in jobs["share"]["steps"] if step.get("run", "").startswith("spec-tests"))
    (merging,) = (step for step in jobs["merge"]["steps"] if step.get("run", "").startswith("spec-tests"))
    assert work["env"] == {"SHARE": "${{ matrix.share }}"}
    for share in jobs["share"]["strategy"]["matrix"]["share"]:
        assert shell(planned, work["run"], SHARE=str(share)).returncode == 0
    check(shell(planned, merging["run"]))
