"""The measured files of sharded implementations are made of their rows, and a stopped measurement is continued."""

import ast
import json
import sys
from pathlib import Path

import pytest

from ..measure import sharded
from ..support.layout_fault import LayoutFault
from ..support.paths import MEASURED
from ..support.sharded_variant import Variant


@pytest.mark.parametrize("part", sharded.DESCRIBE)
def test_the_text_is_that_of_the_rows(part: str) -> None:
    assert (MEASURED / f"sharded_{part}.txt").read_text() == sharded.format_part(part, sharded.read_rows()[part])


def test_every_fault_that_was_tried_was_caught_and_right_ones_raised_no_alarm() -> None:
    rows = sharded.read_rows()
    assert [key for key, row in rows["faults"].items() if not row["law"]] == []
    assert [key for key, row in rows["right"].items() if row["alarms"]] == []


@pytest.mark.parametrize(("part", "faults"), [("layouts", sharded.LAYOUT_FAULTS), ("faults", sharded.SHIPPED_FAULTS)])
def test_every_fault_was_caught_and_none_called_something_else(part: str, faults: dict[str, Variant | LayoutFault]) -> None:
    rows = sharded.read_rows()[part]
    judged = {key: sharded.judge_cause(faults[key], row) for key, row in rows.items()}
    assert [key for key, said in judged.items() if said in ("not caught", "false")] == []


def test_four_of_five_faults_of_layouts_are_named() -> None:
    rows = sharded.read_rows()["layouts"]
    judged = [sharded.judge_cause(sharded.LAYOUT_FAULTS[key], row) for key, row in rows.items()]
    assert len(judged) >= 60
    assert judged.count("named") >= 0.8 * len(judged)


@pytest.mark.parametrize(
    ("kind", "cause", "said"),
    [
        ("equation", "bias is added once for each rank", "named"),
        ("equation", "the answers are those of `x = x / 2`", "false"),
        ("exception", "the call raised RuntimeError: sizes differ, at mine.py:3 in linear", "quoted"),
        ("region", "wrong from d_in = 2 on", "vague"),
        ("unexplained", "wrong answers that nothing known explains", "unexplained"),
    ],
)
def test_a_cause_is_compared_with_what_a_fault_has_to_be_called(kind: str, cause: str, said: str) -> None:
    fault = next(fault for fault in sharded.SHIPPED_FAULTS.values() if fault.name == "every rank adds the bias")
    assert sharded.judge_cause(fault, {"law": "linear.reference", "kind": kind, "cause": cause}) == said
    assert sharded.judge_cause(fault, {"law": "", "kind": "", "cause": ""}) == "not caught"


@pytest.mark.parametrize("fault", sharded.LAYOUT_FAULTS.values(), ids=list(sharded.LAYOUT_FAULTS))
def test_each_fault_of_a_layout_is_python(fault: LayoutFault, tmp_path: Path) -> None:
    ast.parse(fault.write(tmp_path).read_text(encoding="utf-8"))


def test_a_stopped_measurement_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def try_right(backend: str, world_size: int, laws: str, effort: str) -> dict[str, object]:
        if len(tried) == 2:
            raise KeyboardInterrupt
        tried.append(f"{backend} {world_size} {laws} {effort}")
        return {"laws": laws, "effort": effort, "passed": 1, "alarms": [], "examples": 3}

    def measure(*options: str) -> None:
        monkeypatch.setattr(sys, "argv", ["sharded", "right", "--only=dtensor", "--write", *options])
        sharded.main()

    monkeypatch.setattr(sharded, "MEASURED", tmp_path)
    monkeypatch.setattr(sharded, "DATA", tmp_path / "sharded.json")
    monkeypatch.setattr(sharded, "BACKENDS", ("torch_dtensor",))
    monkeypatch.setattr(sharded, "try_right", try_right)
    with pytest.raises(KeyboardInterrupt):
        measure()
    assert tried == ["torch_dtensor 1  default", "torch_dtensor 2  default"]
    assert list(json.loads(sharded.DATA.read_text())["right"]) == ["torch-dtensor on 1 rank", "torch-dtensor on 2 ranks"]
    tried.clear()
    with pytest.raises(KeyboardInterrupt):
        measure("--laws=relu", "--effort=smoke")  # other laws: nothing of that is done
    assert tried == ["torch_dtensor 1 relu smoke", "torch_dtensor 2 relu smoke"]

    def try_wrong(backend: str, world_size: int, laws: str, effort: str) -> dict[str, object]:
        tried.append(f"{backend} {world_size} {laws} {effort}")
        return {"laws": laws, "effort": effort, "passed": 2, "alarms": ["x"], "examples": 1}

    monkeypatch.setattr(sharded, "try_right", try_wrong)
    tried.clear()
    measure("--laws=relu", "--effort=smoke")
    assert tried == ["torch_dtensor 3 relu smoke", "torch_dtensor 4 relu smoke"]
    text = (tmp_path / "sharded_right.txt").read_text()
    assert "torch-dtensor on 4 ranks: 2 laws held, 1 failed, 1 examples at smoke effort (laws: relu)\n    ALARM x\n" in text
