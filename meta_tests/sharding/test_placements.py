"""Summands, meshes, heads and fused arrays: what the ranks are given, or answer, is the array, and mistakes are noticed."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec_tests.processes.message import ProcessArray
from spec_tests.sharding.placements import OnMesh, Partial, Placement, as_placement, divide, of_gradient, settle, unite
from spec_tests.sharding.shards import Cut
from spec_tests.sharding.statements import Shards, read_mesh
from spec_tests.specification.formats import FORMATS

from ..support.paths import BACKENDS, DOCS
from ..support.pytest_process import suite, write

PLACED = (BACKENDS / "sharded" / "placements.py").read_text()
MESH = {"dp": 2, "tp": 3}
STATED: dict[str, Any] = {
    "whole": None,
    "cut": -1,
    "chunks": (0, "chunk"),
    "stripes": (-1, "striped"),
    "heads": {"axis": 0, "heads": 3},
    "heads of three arrays": {"axis": 0, "heads": (3, 2, 1), "order": "zigzag"},
    "fused": {"axis": -1, "fused": (2, 1)},
    "summands": "partial",
    "along one axis of the mesh": {"tp": -1},
    "along two": {"dp": 0, "tp": (-1, "striped")},
    "summands along one": {"dp": {"axis": 0, "heads": 6}, "tp": "partial"},
}


@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_what_the_ranks_are_given_is_the_array(name: str, dtype: str) -> None:
    placement = as_placement(STATED[name], MESH)
    numbers = np.random.default_rng(0).normal(size=(12, 9)) * np.logspace(-9, 9, 9)
    x = ProcessArray(dtype, np.asarray(FORMATS[dtype].round(numbers)).astype("float32" if dtype == "bfloat16" else dtype))
    shards = divide(placement, x, 6)
    assert len(shards) == 6
    for whole in unite(placement, shards):
        assert whole.dtype == dtype
        np.testing.assert_array_equal(whole.values, x.values)


def test_the_ranks_of_a_mesh_have_the_last_axis_as_neighbours() -> None:
    x = ProcessArray("float64", np.arange(6.0).reshape(2, 3))
    shards = divide(as_placement({"dp": 0, "tp": 1}, MESH), x, 6)
    assert [float(shard.values.item()) for shard in shards] == [0, 1, 2, 3, 4, 5]


def test_each_copy_of_a_result_on_a_mesh_is_its_own() -> None:
    pieces = [ProcessArray("float64", np.array([float(rank)])) for rank in range(6)]
    wholes = unite(as_placement({"dp": 0}, MESH), pieces)
    assert [list(whole.values) for whole in wholes] == [[0, 3], [1, 4], [2, 5]] * 2


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_summands_add_up_in_any_order(name: str) -> None:
    """Every partial sum is a number of the format, also of the smallest numbers, and zeros keep their sign."""
    format_, rng = FORMATS[name], np.random.default_rng(1)
    values = np.asarray(
        format_.round(np.concatenate([rng.normal(size=40), format_.quantum * rng.integers(-9, 9, 20), [0.0, -0.0, 1.0]]))
    )
    x = ProcessArray(name, values.astype("float32" if name == "bfloat16" else name))
    shards = [shard.values.astype(np.float64) for shard in divide(Partial(), x, 3)]
    for order in itertools.permutations(shards):
        partial_sum = order[0] + order[1]
        np.testing.assert_array_equal(format_.round(partial_sum), partial_sum)
        np.testing.assert_array_equal(partial_sum + order[2], values)
        np.testing.assert_array_equal(np.signbit(partial_sum + order[2]), np.signbit(values))
    assert all(np.any(shard) for shard in shards)


def test_what_is_no_number_is_a_summand_of_one_rank() -> None:
    x = ProcessArray("float32", np.array([np.inf, -np.inf, np.nan, 1.0], dtype=np.float32))
    (whole, _) = unite(Partial(), divide(Partial(), x, 2))
    np.testing.assert_array_equal(whole.values, x.values)


def test_none_is_a_summand_of_zeros() -> None:
    one = ProcessArray("float32", np.ones(2, dtype=np.float32))
    for pieces in ([None, one], [one, None]):
        for whole in unite(Partial(), pieces):
            np.testing.assert_array_equal(whole.values, one.values)
    with pytest.raises(ValueError, match="a rank has no array"):
        unite(Cut(0), [one, None])


def test_integers_have_no_summands() -> None:
    with pytest.raises(ValueError, match="floating-point numbers alone"):
        divide(Partial(), ProcessArray("int64", np.arange(3)), 2)


@pytest.mark.parametrize(("length", "cut"), [(5, Cut(0, heads=(3,))), (5, Cut(0, fused=(1, 1)))])
def test_a_length_that_does_not_fit_is_refused(length: int, cut: Cut) -> None:
    with pytest.raises(ValueError, match=f"axis 0 has {length} entries, no multiple of"):
        cut.places(length, 2)


def test_pieces_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="another length"):
        Cut(0, "chunk").join([np.zeros(1), np.zeros(2)])


def test_heads_are_numbers_of_the_call() -> None:
    placement = as_placement({"axis": 0, "heads": ("num_heads", 2)})
    assert settle(placement, {"num_heads": 4}) == Cut(0, heads=(4, 2))
    with pytest.raises(ValueError, match="the call has no number num_heads"):
        settle(placement, {"num_heads": None})


def test_the_number_of_heads_may_be_that_of_another_argument() -> None:
    placement = as_placement({"axis": 0, "heads": "num_kv_heads or num_heads"})
    assert settle(placement, {"num_kv_heads": None, "num_heads": 4}) == Cut(0, heads=(4,))
    assert settle(placement, {"num_kv_heads": 2, "num_heads": 4}) == Cut(0, heads=(2,))
    assert isinstance(placement, Cut)
    assert placement.count_own({"num_kv_heads": 3, "num_heads": 6}, 0, 2) == {"num_kv_heads": 2}
    with pytest.raises(ValueError, match="there is no argument num_kv_head"):
        Shards({"multihead_self_attention": {"w_k": {"axis": 0, "heads": "num_kv_head or num_heads"}}})


def test_the_gradient_of_summands_is_whole() -> None:
    cut = Cut(-1)
    found: list[Placement] = [of_gradient(Partial()), of_gradient(cut), of_gradient(OnMesh((2, 2), (Partial(), cut)))]
    assert found == [None, cut, OnMesh((2, 2), (None, cut))]
    shards = Shards({"linear": {"x": "partial", "weight": 0, "gradient.weight": "partial"}})
    assert (shards.place_gradient("linear", "x"), shards.place_gradient("linear", "weight")) == (None, Partial())
    assert not shards.is_plain("linear")


def test_a_result_and_an_argument_of_one_name_are_told_apart() -> None:
    shards = Shards({"add_rms_norm": {"residual": -1, "result.residual": None}})
    assert (shards.of_argument("add_rms_norm", "residual"), shards.of_result("add_rms_norm", "residual")) == (Cut(-1), None)
    assert shards.of_result("add_rms_norm", "y") is None


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        ({"x": {"axis": 0, "heads": "num_head"}}, "cut x by num_head heads; there is no argument num_head"),
        ({"x": {"axis": 0, "heads": 0}}, "give an axis"),
        ({"x": {"axis": 0, "heads": 2, "fused": (1, 1)}}, "give an axis"),
        ({"x": {"pp": 0}}, "give an axis"),
        ({"gradient.y": 0}, "name 'gradient.y'; there are"),
    ],
)
def test_wrong_statements_are_refused(stated: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^its shards of multihead_self_attention") as refusal:
        Shards({"multihead_self_attention": stated}, MESH)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mesh = {'dp': n}\n", 'its mesh is read before it runs; write it as mesh = {"dp": 2, "tp": 2}'),
        ("mesh = {'dp': 2, 'tp': 4}\n", "its mesh {'dp': 2, 'tp': 4} has 8 ranks, and it runs on 4"),
    ],
)
def test_a_mesh_that_does_not_fit_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    write(tmp_path, mine=text)
    with pytest.raises(ValueError, match=r"^its mesh") as refusal:
        read_mesh(tmp_path / "mine.py", 4)
    assert str(refusal.value) == sentence
    write(tmp_path, mine="mesh = {'dp': 2, 'tp': 2}\n")
    assert read_mesh(tmp_path / "mine.py", 4) == {"dp": 2, "tp": 2}


# --- on four ranks ----------------------------------------------------------------------------------------------------------

WRONG = {  # a line of the backend, what a mistake makes of it, and the law that notices it
    "a bias on each rank": ("y + bias * (TP == 0)", "y + bias", "linear.reference"),
    "a gradient that is not whole": ('        "gradient.x": {"dp": "partial", "tp": -1},\n', "", "linear_vjp.reference"),
    "the axes of the mesh exchanged": ("DP, TP = divmod(", "TP, DP = divmod(", "linear.reference"),
    "features in contiguous order": ('"result": {"dp": (-1, "striped")}', '"result": {"dp": -1}', "embedding.reference"),
    "halves cut as one": ('{"axis": -1, "fused": (1, 1)}', "-1", "gated_activation.reference"),
    "a copy for a summand": ("torch.zeros_like(x)", "x.clone()", "add_rms_norm.reference"),
    "a sum that is left out": ("        dist.all_reduce(total)\n", "", "add_rms_norm.reference"),
    "the heads of another rank": ("(RANKS)[RANK]", "(RANKS)[-1 - RANK]", "multihead_self_attention.reference"),
}


@pytest.mark.slow
def test_no_sum_of_16_bit_summands_is_an_alarm(tmp_path: Path) -> None:
    """Each rank rounds its summand of y = W x, and of the gradients, to the dtype. Some ranks do not use the bias."""
    _, _, rest = (DOCS / "guides" / "sharded.md").read_text().partition("# column_and_row.py\n")
    write(tmp_path, mine=rest.partition("```")[0])
    for seed in range(2):
        options = "--backend=mine.py", "--dtype=bfloat16", f"--hypothesis-seed={seed}"
        done = suite(tmp_path, *options, "-k", "linear.reference or linear.exact_sums or linear_vjp.reference")
        assert done.code == 0, done.text
        assert "nothing wrong found" in done.text


@pytest.mark.slow
def test_right_code_raises_no_alarm(tmp_path: Path) -> None:
    write(tmp_path, mine=PLACED)
    done = suite(tmp_path, "--backend=mine.py", "--effort=smoke", "-k", "reference or ranks or cotangent")
    assert done.code == 0, done.text
    assert "nothing wrong found" in done.text


@pytest.mark.slow
@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_code_is_noticed(name: str, tmp_path: Path) -> None:
    right, wrong, law = WRONG[name]
    assert right in PLACED
    write(tmp_path, mine=PLACED.replace(right, wrong, 1))
    done = suite(tmp_path, "--backend=mine.py", "--effort=smoke", "-k", f"{law} and float32")
    assert done.code == 1, done.text
    assert law in done.text
