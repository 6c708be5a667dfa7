"""What people keep of an earlier version is read by this one: its files, a project's tests, and a server of the process protocol.

Each folder of `earlier_versions/` has what one version wrote, or what its documentation told people to write.
"""

import shutil
import sys
from pathlib import Path

import pytest

from spec_tests.report import read

from ..support.paths import ROOT
from ..support.pytest_process import environment, pytest_run, python, suite

VERSIONS = sorted(path for path in (ROOT / "meta_tests" / "earlier_versions").iterdir() if path.is_dir())
AFTER = "-m", "spec_tests"


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of what is kept of a version, in the folder in which it was written."""
    return Path(shutil.copytree(request.param, tmp_path / "kept"))


def test_a_version_is_kept() -> None:
    assert len(VERSIONS) >= 1


def test_a_list_of_known_failures_is_read(kept: Path) -> None:
    """The backend still fails as it did: an entry that nothing matches any more would end the run with another status."""
    words = ("--known-failing=known_failing.txt", "--known-flaky=known_flaky.txt", "--hypothesis-seed=1")
    done = suite(kept, "--backend=mine.py", *words, "-k", "rms_norm.reference or softmax.reference")
    assert done.code == 0, done.text
    assert "fails nothing, because a file says that it is known" in done.text
    assert {fact["id"] for fact in done.facts if fact["known"]} == {"rms_norm.reference", "softmax.reference"}


def test_a_report_is_read(kept: Path) -> None:
    report = read(kept / "report")
    assert report.complete
    assert {verdict.status for verdict in report.verdicts} == {"passed", "failed"}
    assert all(verdict.causes for verdict in report.verdicts if verdict.status == "failed")
    done = python(kept, *AFTER, "report", "report", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert "epsilon stands outside the square root" in (kept / "page.html").read_text()


def test_a_campaign_goes_on(kept: Path) -> None:
    """One of its two items is done."""
    done = python(kept, *AFTER, "work", "campaign")
    assert [line.rpartition(": ")[2] for line in done.stdout.splitlines()] == ["done before", "done"], done.stdout + done.stderr
    merged = python(kept, *AFTER, "merge", "campaign")
    assert merged.returncode == 0, merged.stderr
    assert read(kept / "campaign" / "merged").header.items == 2


def test_test_vectors_are_checked_by_today_s_checker(kept: Path) -> None:
    checker = (ROOT / "examples" / "vectors" / "check.py").read_text()
    (kept / "check.py").write_text(checker)
    (kept / "wrong.py").write_text(checker.replace("return [v / total for v in e]", "return e"))
    right, wrong = (python(kept, name, "vectors/softmax.safetensors") for name in ("check.py", "wrong.py"))
    assert (right.returncode, wrong.returncode) == (0, 1), right.stdout + wrong.stdout


def test_a_server_answers(kept: Path) -> None:
    done = suite(kept, f"--backend=process:{sys.executable} server.py", "-k", "relu.reference or logsumexp.reference")
    found = {status: {fact["id"] for fact in done.facts if fact["status"] == status} for status in ("passed", "failed")}
    assert found["failed"] == {"logsumexp.reference"}, done.text  # in float32; few of the values in float64 overflow
    assert "relu.reference" in found["passed"]


def test_tests_of_a_project_pass(kept: Path) -> None:
    done = pytest_run(kept, "-p", "no:cacheprovider", "tests_of_a_project.py", env=environment(ROOT, kept))
    assert (done.code, len(done.nodes)) == (0, 4), done.text


def test_an_entry_point_names_a_backend(kept: Path) -> None:
    (kept / "acme-1.0.dist-info").mkdir()
    (kept / "acme-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (kept / "acme-1.0.dist-info" / "entry_points.txt").write_text("[spec_tests.backends]\nacme-numpy = mine\n")
    done = suite(kept, "--backend=acme-numpy", "-k", "relu.reference", env=environment(ROOT, kept))
    assert done.code == 0, done.text
    assert done.count("passed") == 2
