"""The table of what each backend reaches: made from runs, and the committed one from its committed data."""

import json
import re
from pathlib import Path

import pytest

from . import conformance
from .commanding import EPS_OUTSIDE, NUMPY, RELU, write
from .conformance import DATA, GRADIENTS, Entry, deviations, measured, table


@pytest.fixture(params=[DATA, GRADIENTS], ids=lambda path: path.stem)
def entries(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Entry]]:
    return request.param, json.loads(request.param.read_text())


def test_a_backend_is_measured(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + EPS_OUTSIDE, lost="import a_library_that_is_not_there")
    mine = measured(f"{tmp_path}/mine.py", "smoke")
    assert mine["version"].startswith("numpy ")
    assert mine["cells"]["relu"]["float32"].items() >= {"class": "fused", "worst": 0.0, "broken": []}.items()
    assert "reference" in mine["cells"]["rms_norm"]["float32"]["broken"]
    assert mine["cells"]["softmax"] == {"float32": {}}
    cells = measured(f"{tmp_path}/mine.py", "smoke", law="reference")["cells"]
    assert cells["relu"]["float32"]["tried"] == cells["rms_norm"]["float32"]["tried"] == 1
    lost = measured(f"{tmp_path}/lost.py", "smoke")
    assert lost == {"absent": "it imports 'a_library_that_is_not_there', which is not installed here"}
    lines = list(table({"mine": mine, "lost": lost}))
    for pattern in (
        r"relu +f",
        r"relu +f0/0",
        r"rms_norm +!",
        r"rms_norm +!\d+",
        r"softmax +·",
        "  mine: rms_norm in float32: reference, .*",
    ):
        assert any(re.fullmatch(pattern, line) for line in lines), pattern
    assert lines[-1].split(maxsplit=1) == ["lost", lost["absent"]]


def test_the_table_is_that_of_the_data(entries: tuple[Path, dict[str, Entry]]) -> None:
    data, found = entries
    assert data.with_suffix(".txt").read_text() == "\n".join(table(found)) + "\n"


def test_whatever_deviates_is_among_the_findings(entries: tuple[Path, dict[str, Entry]]) -> None:
    assert [line for line in deviations(entries[1]) if "not among the findings" in line] == []


def test_a_finding_is_found_by_its_invariant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text(
        "# Found by `pytest --backend=mine`\n\n## A finding\n\nBy `relu.reference`.\n\n## Another\n\nBy `relu.sign`."
    )
    monkeypatch.setattr(conformance, "FINDINGS", tmp_path)
    assert list(conformance.findings("mine", "relu", {"reference"})) == ["findings/page: A finding"]
    assert list(conformance.findings("mine", "silu", {"reference"})) == []
    assert list(conformance.findings("my", "relu", {"reference"})) == []
