"""Test the table of what the backends reach: how it is made from runs, and that the committed one agrees with its data."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spec_tests.implementation.lookup import built_in_backends
from spec_tests.specification.registry import gradients, operations
from spec_tests.trials.collection import invariants

from ..measure import conformance, conformance_table
from ..measure.conformance import CONFORMANCE_JSON, GRADIENTS_JSON, measure_backend, merge_entries, select_operation
from ..measure.conformance_table import Entry, find_findings, format_table, list_failures
from ..support.paths import DOCS, ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, Run, write

pytestmark = [pytest.mark.rotating, pytest.mark.xdist_group("docs/conformance_table")]  # which share a measurement
NAMES = ("gelu", "glu", "relu", "swiglu")
GLU = """
def glu(x, w1, w2):
    return (x @ w2.T) / (1 + np.exp(-(x @ w1.T)))

def swiglu(x, w1, w2, w3):
    h = x @ w1.T
    return (h / (1 + np.exp(-h)) * (x @ w3.T)) @ w2.T
"""


@pytest.fixture(params=[CONFORMANCE_JSON, GRADIENTS_JSON], ids=lambda path: path.stem)
def entries(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Entry]]:
    return request.param, json.loads(request.param.read_text())


def test_a_backend_is_measured(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + EPS_OUTSIDE, lost="import a_library_that_is_not_there")
    mine = measure_backend(f"{tmp_path}/mine.py", "smoke")
    assert mine["version"].startswith("numpy ")
    assert mine["cells"]["relu"]["float32"].items() >= {"class": "fused", "worst": 0.0, "broken": []}.items()
    assert "reference" in mine["cells"]["rms_norm"]["float32"]["broken"]
    assert mine["cells"]["softmax"] == {"float32": {}}
    lost = measure_backend(f"{tmp_path}/lost.py", "smoke")
    assert lost == {"absent": "it imports 'a_library_that_is_not_there', which is not installed here"}
    lines = list(format_table({"mine": mine, "lost": lost}))
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


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    write(folder := tmp_path_factory.mktemp("measured"), mine=NUMPY + RELU + GLU)
    return f"{folder}/mine.py"


@pytest.fixture(scope="module")
def whole(path: str) -> Entry:
    return measure_backend(path, "smoke", names=NAMES)


def test_operations_may_be_tried_in_processes_of_their_own(path: str, whole: Entry) -> None:
    apart = measure_backend(path, "smoke", names=NAMES, apart=2)
    assert apart["cells"] == whole["cells"]
    assert all(cell["float32"]["tried"] for name, cell in apart["cells"].items() if name != "gelu")


@pytest.mark.nightly
def test_kept_reports_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, mine=NUMPY + RELU + GLU)
    path, kept, runs, run_suite = f"{tmp_path}/mine.py", tmp_path / "kept", [], conformance._run_suite

    def count_runs(*args: Any) -> Run:
        runs.append(run_suite(*args))
        return runs[-1]

    monkeypatch.setattr(conformance, "_run_suite", count_runs)
    entry = measure_backend(path, "smoke", names=NAMES, apart=1, keep=kept)
    assert entry["cells"] == measure_backend(path, "smoke", names=NAMES)["cells"]
    reports = sorted(kept.glob("*/report.jsonl"))
    assert len(reports) == len(NAMES)
    runs.clear()
    assert measure_backend(path, "smoke", names=NAMES, apart=1, keep=kept) == entry
    assert not runs

    cut, lost, *_ = reports  # one report is cut off, another lost
    header, backend, first, *others = cut.read_text().splitlines(keepends=True)
    cut.write_text(header + backend + first + others[0][:9])  # as if the machine had stopped
    lost.write_text("")
    again = measure_backend(path, "smoke", names=NAMES, apart=1, keep=kept)
    assert [again[name] for name in ("cells", "examples")] == [entry[name] for name in ("cells", "examples")]
    assert len(runs) == 2
    assert any(len(run.nodes) == len(others) - 1 for run in runs)  # all but the first verdict; the last line is no verdict
    assert measure_backend(path, "smoke", names=NAMES, apart=1, keep=kept) == again
    assert len(runs) == 2


def test_each_report_has_its_own_folder_whose_name_is_short() -> None:
    long = ("--backend=/tmp/mine.py", "-k", " or ".join(map(conformance.select_operation, NAMES * 50)))
    names = [conformance._name_folder(words) for words in (long, (*long, "--effort=smoke"), long[:2])]
    assert len(set(names)) == 3
    assert all(len(name) < 128 and "/" not in name for name in names)


def test_an_interrupted_run_is_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    run_suite = conformance._run_suite
    monkeypatch.setattr(conformance, "_run_suite", lambda *args: replace(run_suite(*args), code=2))
    with pytest.raises(SystemExit, match="pytest ended with 2"):
        measure_backend(f"{tmp_path}/mine.py", "smoke", names=("relu",))


def test_some_operations_may_be_measured_again(path: str, whole: Entry) -> None:
    relu, pair = (measure_backend(path, "smoke", names=names) for names in (("relu",), ("relu", "glu")))
    assert merge_entries(whole, relu)["cells"] == whole["cells"]
    both = merge_entries(
        merge_entries(whole, pair), {**relu, "effort": "default", "version": "another", "shapes": 3, "seconds": 90}
    )
    assert [(again["operations"], again["effort"]) for again in both["again"]] == [(["glu"], "smoke"), (["relu"], "default")]
    assert "again" not in whole
    lines = list(format_table({"mine": both, "few": pair}))
    assert f"      relu: another, default effort, {relu['examples']} examples in 2 min, 3 shapes of each operation" in lines
    assert next(line for line in lines if line.startswith("swiglu")).split() == [
        "swiglu",
        "f",
    ]  # the entry of only two operations has no cell here
    assert "smoke effort" in next(line for line in lines if " mine " in line)
    renewed = merge_entries(both, measure_backend(path, "smoke", names=("swiglu",)))
    assert "effort" not in next(line for line in format_table({"mine": renewed}) if " mine " in line)


def test_an_unknown_operation_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["conformance", "--only=relu,rrelu", "numpy-cpu"])
    with pytest.raises(SystemExit, match="2"):
        conformance.main()
    assert "--only=relu,rrelu: there is no 'rrelu'; there are " in capsys.readouterr().err


def test_selecting_operations_one_by_one_selects_each_invariant_once() -> None:
    selections = [select_operation(name).strip("()").split(" or ") for name in (*operations(), *gradients())]
    for test in invariants():
        names = {"operation": operations(), "gradient": gradients()}.get(test.invariant.operations[0], ("",))
        for node in (f"{test.__module__}.py::{test.__name__}[{name}-numpy-cpu-float32]" for name in names):
            assert sum(any(part in node for part in parts) for parts in selections) == 1, node


def test_the_committed_table_agrees_with_its_data(entries: tuple[Path, dict[str, Entry]]) -> None:
    data, found = entries
    assert data.with_suffix(".txt").read_text() == "\n".join(format_table(found)) + "\n"


def test_every_failure_is_among_the_findings(entries: tuple[Path, dict[str, Entry]]) -> None:
    assert [line for line in list_failures(entries[1]) if "not among the findings" in line] == []


def test_a_finding_is_found_by_its_invariant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text(
        "# Found by `pytest --backend=mine`\n\n## A finding (float64, float32)\n\nBy `relu.reference`."
        "\n\n## Another (all dtypes)\n\nBy `relu.sign`."
    )
    monkeypatch.setattr(conformance_table, "FINDINGS", tmp_path)
    assert find_findings("mine", "relu", {"reference"}, "float32") == ["findings/page: A finding (float64, float32)"]
    assert find_findings("mine", "relu", {"reference", "sign"}, "float16") == ["findings/page: Another (all dtypes)"]
    assert find_findings("mine", "relu", {"reference"}, "float16") == []
    assert find_findings("mine", "silu", {"reference"}, "float32") == []
    assert find_findings("my", "relu", {"reference"}, "float32") == []
    broken = {dtype: {"broken": ["reference"]} for dtype in ("float32", "float16")}
    assert list(list_failures({"mine": {"cells": {"relu": broken}}}))[1:] == [
        "    → findings/page: A finding (float64, float32)",
        "    → not among the findings: float16",
    ]


def test_a_title_may_name_one_backend_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = "\n\n## Of `mine` (all dtypes)\n\nBy `relu.reference`.\n\n## Of all (all dtypes)\n\nBy `relu.reference`."
    (tmp_path / "page.md").write_text(f"# Found by `pytest --backend=mine` and `pytest --backend=yours`{found}")
    monkeypatch.setattr(conformance_table, "FINDINGS", tmp_path)
    every = "findings/page: Of all (all dtypes)"
    assert find_findings("mine", "relu", {"reference"}, "float32") == ["findings/page: Of `mine` (all dtypes)", every]
    assert find_findings("yours", "relu", {"reference"}, "float32") == [every]


def test_the_page_says_how_many_backends_run_in_which_session() -> None:
    """The file of the session `libraries` needs those libraries, so that its table is read as text."""
    page = (DOCS / "conformance_commands.md").read_text(encoding="utf-8")
    names, entries = built_in_backends(), json.loads(CONFORMANCE_JSON.read_text(encoding="utf-8"))
    rows = [name for name in names if name in entries]
    on_gpu = [name for name in rows if name.endswith("-cuda")]
    assert f"prints {len(names)} backends" in page
    assert f"{len(rows)} of the {len(names)}, {len(on_gpu)} of these on a GPU, and {len(conformance.EXAMPLES)} backends" in page
    text = (ROOT / "meta_tests" / "implementation" / "test_library_backends.py").read_text(encoding="utf-8")
    compared = re.findall(r'^    "([\w-]+)": \(', text.partition("CONFORMING = {")[2].partition("}")[0], re.MULTILINE)
    assert f"in float32 at smoke effort, of {len(compared)} backends" in page
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert noxfile.count('"--backend=torch-cpu"') == 2, "the sessions main and nightly"
