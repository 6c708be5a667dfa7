"""Tests of plans: what they list, in which order, and how they are dealt to machines."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from spec_tests.campaign.item import Item, read_key
from spec_tests.campaign.needs import Needs
from spec_tests.campaign.plan import PlanError, deal, expect_seconds, list_items, read_plan, slice_seeds
from spec_tests.campaign.timing import estimate, read_timings
from spec_tests.commands import main
from spec_tests.report import ReportError, read
from spec_tests.report.records import read_line

from ..measure import campaign_cost
from ..support import handmade_reports
from ..support.paths import MEASURED, ROOT
from ..support.pytest_process import NUMPY, write
from .campaigns import make_campaign, spec_tests

STATED = {"text": "a.py", "dtypes": ["float32", "float16"], "operations": ["relu", "causal_mask"], "gradients": ["relu_vjp"]}
BACKEND = read_line({**handmade_reports.BACKEND, **STATED})
ITEMS = [Item("a.py", "relu", "float32", "smoke", i, i, 0, expected_seconds=float(i % 7)) for i in range(40)]


def test_a_plan_has_an_item_for_each_operation_dtype_and_slice_of_seeds() -> None:
    items = list_items(BACKEND, "smoke", slice_seeds(5, 2), seed=1)
    assert len(items) == (2 + 1 + 2) * 3  # the results of causal_mask have one dtype
    assert {item.dtype for item in items if item.operation == "causal_mask"} == {""}
    assert {(item.first_seed, item.last_seed) for item in items} == {(0, 1), (2, 3), (4, 4)}
    assert len({item.name for item in items}) == len({item.key for item in items}) == len(items)
    chosen = list_items(BACKEND, "smoke", slice_seeds(1, 1), seed=1, operations=["relu"], dtypes=["float16"])
    assert [(item.operation, item.dtype) for item in chosen] == [("relu", "float16")]


def test_names_of_folders_differ_with_everything_that_an_item_is_of() -> None:
    item = ITEMS[0]
    changed = [
        replace(item, **{name: value})
        for name, value in {
            "backend": "b.py",
            "operation": "silu",
            "dtype": "",
            "effort": "default",
            "last_seed": 9,
            "seed": 2,
        }.items()
    ]
    assert len({other.name for other in (item, *changed, replace(item, isolate=True), replace(item, world_size=2))}) == 9
    assert len(replace(item, backend="a" * 500).name) < 120  # a file name may have 255 bytes


def test_shares_hold_each_item_once_and_take_about_as_long() -> None:
    for machines in (1, 3, 7, 100):
        hands = deal(ITEMS, machines)
        assert sorted(item.name for hand in hands for item in hand) == sorted(item.name for item in ITEMS)
        loads = [sum(item.expected_seconds for item in hand) for hand in hands]
        assert max(loads) - min(loads) <= 6  # the longest item
        assert all(a.expected_seconds >= b.expected_seconds for hand in hands for a, b in pairwise(hand))
    assert expect_seconds(ITEMS, 1) == sum(item.expected_seconds for item in ITEMS)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two backends and the plan of a campaign."""
    place = tmp_path_factory.mktemp("planned")
    make_campaign(place, "--alone=right.py", "--gpu=wrong.py", "--gpu=right.py=0.25", "--memory=2GiB")
    return place


def test_a_plan_is_read_as_it_was_written(planned: Path, tmp_path: Path) -> None:
    plan = read_plan(planned / "campaign")
    assert {item.backend for item in plan.items} == {"right.py", "wrong.py"}
    assert plan.needs == {
        "right.py": Needs(gpus=0.25, memory_gib=2.0, alone=True),
        "wrong.py": Needs(gpus=1.0, memory_gib=2.0),
    }
    plan.write(tmp_path / "again.json")
    assert read_plan(tmp_path / "again.json") == plan
    assert all(a.expected_seconds >= b.expected_seconds for a, b in pairwise(plan.items))


@pytest.mark.rotating
def test_expected_seconds_come_from_reports(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, "--operation=relu")
    assert spec_tests(tmp_path, "work", "campaign", "--jobs=2").returncode == 0
    timings = read_timings(folder)
    assert set(timings) == {("right.py", "relu", "float32"), ("wrong.py", "relu", "float32")}
    items, measured = estimate(read_plan(folder).items, timings)
    assert measured == len(items)
    longer, _ = estimate([replace(item, last_seed=item.last_seed + 98) for item in items], timings)
    assert min(item.expected_seconds for item in longer) > max(item.expected_seconds for item in items)
    with pytest.raises(ReportError, match="there is no report"):
        read_timings(tmp_path / "nothing")


ON_RANKS = """
world_size, shards = (1, 2), {"relu": {"x": -1, "result": -1}}
domain = {"relu": {"batch_dims": (1, 2, 3)}}


def relu(x):
    return np.maximum(x, 0)
"""


@pytest.mark.rotating
def test_a_backend_on_ranks_is_planned_with_its_world_size_beside_one_of_one_process(tmp_path: Path) -> None:
    write(tmp_path, plain=NUMPY + "def relu(x):\n    return np.maximum(x, 0)\n", on_ranks=NUMPY + ON_RANKS)
    words = ("plan", "plain.py", "on_ranks.py", "--operation=relu", "--effort=smoke", "-o", "campaign")
    done = spec_tests(tmp_path, *words, "--world-size=3")
    assert "on_ranks.py: --world-size=3, and its world_size is 1, 2" in done.stderr
    assert spec_tests(tmp_path, *words, "--world-size=2").returncode == 0
    plan = read_plan(tmp_path / "campaign")
    assert {item.backend: item.world_size for item in plan.items} == {"plain.py": None, "on_ranks.py": 2}
    assert {record.name: record.version.endswith(" on 2 ranks") for record in plan.backends} == {
        "plain": False,
        "on_ranks": True,
    }
    assert spec_tests(tmp_path, "work", "campaign").returncode == 0
    merged = spec_tests(tmp_path, "merge", "campaign")
    assert merged.returncode == 0, merged.stderr
    tried = {verdict.id for verdict in read(tmp_path / "campaign" / "merged").verdicts if verdict.backend == "on_ranks"}
    assert {"relu.reference", "relu.ranks"} <= tried


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("plan", "nothing.py"), "nothing.py"),
        (("plan", "right.py", "--operation=sofmax"), "there is no operation 'sofmax'. Did you mean softmax"),
        (("plan", "right.py", "--dtype=float12"), "there is no dtype 'float12'"),
        (("plan", "right.py", "--seeds=0"), "--seeds and --seeds-per-item are at least 1"),
        (("plan", "right.py", "--operation=rope"), "no backend has an operation and a dtype of those that were named"),
        (("plan", "right.py", "--gpu=other.py"), "--gpu=other.py: give a part of one GPU or a whole number of them"),
        (("plan", "right.py", "--gpu=1.5"), "--gpu=1.5: give a part of one GPU or a whole number of them"),
        (("plan", "right.py", "--alone=other.py"), "'other.py' is none of the backends of the plan; the backends are right.py"),
        (("plan", "right.py", "--accelerator-type=H100"), "--accelerator-type=H100: state how many with --gpu"),
        (("plan", "right.py", "--memory=4"), "--memory=4: give a number and one of MiB, GiB"),
        (("plan", "right.py", "--cpus=right.py=0"), "--cpus=right.py=0: give a whole number of CPUs"),
        (("plan", "right.py", "--limit=0"), "--limit=0.0: give a number of seconds greater than 0"),
        (("plan", "right.py", "--max-calls=0"), "--max-calls=0: give at least 1"),
        (
            ("work", "campaign", "--backend=other.py"),
            "--backend=other.py is none of the backends of the plan: right.py, wrong.py",
        ),
        (("work", "campaign", "--tries=0"), "--tries=0: give at least 1"),
        (("plan", "right.py", "--machines=many"), "--machines=many: give numbers"),
        (("plan", "right.py", "./right.py"), "two backends have the same name"),
        (("plan", "right.py", "--world-size=2"), "right.py: --world-size=2 is for a backend that runs on several ranks"),
        (("plan", "right.py", "--world-size=0"), "--world-size=0: give the number of ranks, from 1 to 64"),
        (("work", "nothing"), "nothing/plan.json: there is no plan"),
        (("work", "campaign", "--item=0"), "--item=0: give K from 1 to"),
        (("work", "campaign", "--item=4/3"), "--item=4/3: give K from 1 to"),
        (("work", "campaign", "--jobs=0"), "--jobs=0: give at least 1"),
        (("merge", "campaign"), "missing: "),
        (("campaign", "campaign", "--jobs=0"), "--jobs=0: give at least 1"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(
    words: tuple[str, ...], complaint: str, planned: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (planned / "campaign" / "plan.json").read_bytes()
    monkeypatch.chdir(planned)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    try:
        status = main(list(words))
    except SystemExit as ended:
        status = int(ended.code or 0)
    assert status == 4
    assert complaint in capsys.readouterr().err
    assert (planned / "campaign" / "plan.json").read_bytes() == before


def test_a_plan_of_another_version_or_of_nothing_is_refused(planned: Path, tmp_path: Path) -> None:
    folder, text = tmp_path, (planned / "campaign" / "plan.json").read_text()
    (folder / "plan.json").write_text(text.replace('"suite": "', '"suite": "9'))
    with pytest.raises(PlanError, match="install the former, or make the plan again"):
        read_plan(folder)
    for broken in ("", "[]", "{}", '{"items": 3}', text.replace('"items"', '"things"'), text[:-5]):
        (folder / "plan.json").write_text(broken)
        with pytest.raises(PlanError, match="is no plan"):
            read_plan(folder)


def test_the_cost_of_a_large_campaign_is_that_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    campaign_cost.main()
    assert capsys.readouterr().out == (MEASURED / "campaign_cost.txt").read_text()


def test_a_header_without_seeds_is_of_no_item() -> None:
    header = read_line({**handmade_reports.HEADER, "backends": ["a.py"], "effort": "smoke"})
    assert read_key(header) not in {item.key for item in ITEMS}
