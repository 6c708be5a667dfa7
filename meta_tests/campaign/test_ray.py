"""Tests of campaigns on a Ray cluster: items that are killed run again, none twice, and the merged report is the same."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from spec_tests.campaign.needs import Needs
from spec_tests.campaign.plan import read_plan
from spec_tests.campaign.work import find_report
from spec_tests.report import read
from spec_tests.specification.installation import install_line

from ..measure.campaign_on_ray import Ran, run_and_kill, run_and_lose_nodes
from .campaigns import make_campaign, spec_tests, summarize

pytestmark = pytest.mark.slow


def test_without_ray_the_command_says_what_to_install(tmp_path: Path) -> None:
    make_campaign(tmp_path, "--operation=relu")
    (tmp_path / "ray.py").write_text("raise ImportError('not here')\n")
    done = spec_tests(tmp_path, "campaign", "campaign", "--ray=local")
    assert done.returncode == 4
    assert f"Ray is not installed: {install_line('campaign')}" in done.stderr


@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")  # by JAX, if a test before this one has imported it
@pytest.mark.parametrize(("run", "count"), [(run_and_kill, 3), (run_and_lose_nodes, 2)], ids=["processes", "nodes"])
def test_items_that_are_lost_run_again_and_none_twice(run: Callable[[Path, int, float], Ran], count: int, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    folder = make_campaign(tmp_path, "--operation=relu", "--seeds=12")
    items = read_plan(folder).items
    ran = run(tmp_path, count, 0.5)
    assert (ran.status, ran.killed) == (0, count), ran.output
    assert ran.done == len(items) == 12, ran.output
    assert ran.repeated >= 1
    assert all((report := find_report(item, folder)) is not None and report.complete for item in items)
    merged = spec_tests(tmp_path, "merge", "campaign")
    assert merged.returncode == 1
    assert re.search(r" was tried (twice|\w+ times): its (process was killed|machine was lost) ", merged.stdout), merged.stdout
    assert read(folder / "merged").footer.retries
    (tmp_path / "again").mkdir()
    again = make_campaign(tmp_path / "again", "--operation=relu", "--seeds=12")
    assert spec_tests(tmp_path / "again", "work", "campaign", "--jobs=2").returncode == 0
    spec_tests(tmp_path / "again", "merge", "campaign")
    for name in ("right", "wrong"):
        assert summarize(read(folder / "merged"), name) == summarize(read(again / "merged"), name)


def test_ray_takes_these_options() -> None:
    ray = pytest.importorskip("ray")
    needs = Needs(cpus=2, gpus=0.25, accelerator_type="H100", memory_gib=4)
    ray.remote(summarize).options(**needs.list_ray_options(shares_machines=True))
    with pytest.raises(ValueError, match="num_gpu"):
        ray.remote(summarize).options(num_gpu=1)
