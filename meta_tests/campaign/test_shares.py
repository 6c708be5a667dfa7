"""Tests of the jobs that are printed for schedulers, and of what items need."""

import json

import pytest

from spec_tests.campaign.item import Item
from spec_tests.campaign.needs import GIB, Needs, NeedsError, state_needs
from spec_tests.campaign.plan import Plan
from spec_tests.campaign.shares import divide, format_buildkite, format_github, format_slurm

BACKENDS = ("a.py", "b c.py")


def make_plan(**statements: tuple[str, ...]) -> Plan:
    items = [Item(text, "relu", "float32", "smoke", i, i, 0, expected_seconds=100.0) for text in BACKENDS for i in range(20)]
    return Plan(tuple(items), (), needs=state_needs(BACKENDS, {"b c.py": 2}, **statements))


def test_what_is_stated_of_one_backend_holds_of_it_alone() -> None:
    found = state_needs(BACKENDS, {"b c.py": 4}, gpus=("0.25", "a.py=2"), memory=("512MiB",), accelerator_types=("b c.py=H100",))
    assert found == {
        "a.py": Needs(cpus=1, gpus=2.0, memory_gib=0.5),
        "b c.py": Needs(cpus=4, gpus=0.25, accelerator_type="H100", memory_gib=0.5),
    }
    assert str(found["b c.py"]) == "4 CPUs, 0.25 GPU of type H100, 0.5 GiB"


def test_each_rank_has_a_cpu() -> None:
    assert state_needs(BACKENDS, {"b c.py": 4})["b c.py"].cpus == 4
    assert state_needs(BACKENDS, {"b c.py": 4}, cpus=("8",))["b c.py"].cpus == 8
    with pytest.raises(NeedsError, match="it runs on 4 ranks, and each needs a CPU"):
        state_needs(BACKENDS, {"b c.py": 4}, cpus=("2",))


def test_ray_is_told_in_its_own_words() -> None:
    needs = Needs(cpus=2, gpus=0.25, accelerator_type="H100", memory_gib=4)
    assert needs.list_ray_options(shares_machines=False) == {
        "num_cpus": 2,
        "num_gpus": 0.25,
        "accelerator_type": "H100",
        "memory": 4 * GIB,
    }
    assert Needs(alone=True).list_ray_options(shares_machines=True)["resources"] == {"machine": 1}
    assert set(needs.list_ray_resources(shares_machines=True)) == {"CPU", "GPU", "memory", "accelerator_type:H100", "machine"}


def test_backends_that_need_other_machines_have_shares_of_their_own() -> None:
    plan = make_plan(gpus=("b c.py=0.25",), accelerator_types=("b c.py=H100",), memory=("b c.py=4GiB",), alone=("a.py",))
    groups = divide(plan, 10)
    assert [(group.backends, group.shares, group.jobs) for group in groups] == [(("a.py",), 8, 1), (("b c.py",), 2, 8)]
    assert format_slurm(groups, "campaign").splitlines() == [
        "sbatch --array=1-8 --cpus-per-task=1 --exclusive slurm.sh campaign --backend=a.py",
        "sbatch --array=1-2 --cpus-per-task=8 --gres=gpu:H100:1 --mem=16384M slurm.sh campaign --jobs=8 '--backend=b c.py'",
    ]
    matrix = json.loads(format_github(groups, "campaign"))["include"]
    assert [job["share"] for job in matrix[-3:]] == ["8/8", "1/2", "2/2"]
    assert matrix[-1] == {
        "share": "2/2",
        "folder": "campaign",
        "options": "--jobs=8 '--backend=b c.py'",
        "cpus": 8,
        "gpus": 1,
        "accelerator_type": "H100",
        "memory_gib": 16.0,
    }
    first, second = json.loads(format_buildkite(groups, "campaign"))["steps"]
    assert (first["parallelism"], second["parallelism"]) == (8, 2)
    assert second["agents"] == {"cpus": "8", "gpus": "1", "accelerator_type": "H100", "memory_gib": "16.0"}
    assert second["command"].endswith("--jobs=8 '--backend=b c.py'")


def test_there_are_no_more_shares_than_items() -> None:
    assert [group.shares for group in divide(make_plan(cpus=("2",)), 1000)] == [40]
