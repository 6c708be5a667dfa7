"""Test that a report can be signed, and that a changed report and a stranger's signature are refused in a sentence."""

import hashlib
import re
from pathlib import Path

import pytest

from spec_tests.commands import main

from ..support.handmade_reports import report as write_report
from ..support.handmade_reports import verdict
from ..support.signed_reports import make_key, needs_ssh, write_signers

pytestmark = needs_ssh


@pytest.fixture
def signers(tmp_path: Path) -> Path:
    """Return the file that names one signer, whose key is in the file `key`."""
    return write_signers(tmp_path / "signers", anna=make_key(tmp_path, "key"))


def test_a_signed_report_is_recognized(tmp_path: Path, signers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = write_report(tmp_path / "report", verdict()).path.parent
    for _ in range(2):  # a second signature takes the place of the first
        assert main(["report", str(report), f"--sign={tmp_path / 'key'}"]) == 0
    assert main(["report", str(report), f"--verify={signers}"]) == 0
    assert re.search(r"signed by anna@example\.org with the ED25519 key SHA256:\S{43}\n$", capsys.readouterr().out)


def test_a_forged_report_is_refused_though_its_hash_is_right(
    tmp_path: Path, signers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = write_report(tmp_path / "report", verdict()).path.parent
    data = report / "report.jsonl"
    assert main(["report", str(report), f"--sign={tmp_path / 'key'}"]) == 0
    *lines, footer = data.read_text().replace('"examples": 128', '"examples": 129').splitlines(keepends=True)
    before = "".join(lines)
    data.write_text(before + footer.replace("}\n", f', "sha256": "{hashlib.sha256(before.encode()).hexdigest()}"}}\n', 1))
    assert main(["report", str(report), f"--verify={signers}"]) == 1
    assert "is not what anna@example.org has signed" in capsys.readouterr().err


def test_what_cannot_be_signed_or_trusted_is_refused_in_a_sentence(
    tmp_path: Path, signers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = write_report(tmp_path / "report", verdict()).path.parent
    assert main(["report", str(report), f"--verify={signers}"]) == 1
    assert "has no signature" in capsys.readouterr().err
    assert main(["report", str(report), "--sign=none"]) == 4
    assert "cannot be signed with none" in capsys.readouterr().err
    assert main(["report", str(report), f"--sign={make_key(tmp_path, 'stranger')}"]) == 0
    assert main(["report", str(report), f"--verify={signers}"]) == 1
    assert "is signed by nobody whom" in capsys.readouterr().err
    assert main(["report", str(report), f"--verify={tmp_path / 'none'}"]) == 1
    assert "there is no file" in capsys.readouterr().err
