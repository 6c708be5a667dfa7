"""Test that a report states the commit of the suite that wrote it, and says where that is not all."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spec_tests.report import read
from spec_tests.running import suite_commit
from spec_tests.running.suite_commit import find_commit

from ..support.pytest_process import NUMPY, RELU, complaints, suite, write


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=Anna", "-c", "user.email=anna@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    git(tmp_path, "tag", "-a", "v1", "-m", "one")
    return tmp_path


def test_a_checkout_has_the_whole_commit_and_a_plus_after_a_change(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert find_commit(checkout) == commit
    (checkout / "file").write_text("2")
    assert find_commit(checkout) == f"{commit}+"
    monkeypatch.setenv("GIT_DIR", str(checkout / "none"))  # as in a hook of another repository
    assert find_commit(checkout) == f"{commit}+"
    monkeypatch.setenv("PATH", "")
    assert find_commit(checkout) == ""


def test_an_installation_has_the_commit_that_pip_has_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_commit, "find_origin", lambda: {"url": "https://a", "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    assert find_commit(tmp_path) == "abc"
    monkeypatch.setattr(suite_commit, "find_origin", lambda: {"url": "file:///a", "dir_info": {}})
    assert find_commit(tmp_path) == ""


@pytest.mark.rotating
def test_a_report_of_another_commit_is_not_resumed(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    args = ("--backend=mine.py", "-k", "relu.reference", "--report=out")
    assert suite(tmp_path, *args).code == 0
    file = tmp_path / "out" / "report.jsonl"
    assert read(file).header.commit == find_commit()
    lines = [re.sub(r', "before": "\w+"|"commit": "[^"]*", ', "", line) for line in file.read_text().splitlines(keepends=True)]
    file.write_text(lines[0].replace('"spec"', '"commit": "abc", "spec"'))
    (complaint,) = complaints(tmp_path, (*args, "--resume"))
    assert re.fullmatch(r"--resume: out is of commit abc, and this is \S*; start anew", complaint)
    file.write_text(lines[0])  # of an earlier version, which states none
    assert suite(tmp_path, *args, "--resume").code == 0
