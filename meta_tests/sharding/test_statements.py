"""What a sharded backend states is read before it runs, and what is wrong with it is said in one sentence."""

from pathlib import Path
from typing import Any

import pytest

from spec_tests.implementation.backend import load
from spec_tests.implementation.lookup import BackendError
from spec_tests.sharding.shards import Cut
from spec_tests.sharding.statements import Shards, choose_world_size

from ..support.pytest_process import write

SIZES = {  # what the file states, the value of --world-size, and the number of ranks or the sentence that refuses it
    "the first": ("world_size = (3, 1)\nshards = {}\n", None, 3),
    "one": ("world_size = 2\nshards = {}\n", None, 2),
    "in a tuple": ("world_size, shards = (1, 2), {}\n", 2, 2),
    "annotated": ("world_size: int = 4\nshards: dict = {}\n", 4, 4),
    "not sharded": ("world_size = n\n", None, None),
    "no size": ("shards = {}\n", None, "it states shards and no world_size"),
    "a variable": ("n = 2\nworld_size = n\nshards = {}\n", None, "its world_size is read before it runs"),
    "zero": ("world_size = 0\nshards = {}\n", None, "write an int or a tuple of them, up to 64"),
    "another": ("world_size = (1, 2)\nshards = {}\n", 4, "--world-size=4, and its world_size is 1, 2"),
    "devices": ("world_size, ranks = (2, 4), 'devices'\n", 4, 4),
    "other ranks": ("world_size, ranks = 2, [0, 1]\n", None, None),
    "devices, no size": ("ranks = 'devices'\n", None, "it states ranks and no world_size"),
    "devices and shards": ("world_size, ranks, shards = 2, 'devices', {}\n", None, "it states shards, and ranks = 'devices'"),
    "a plain backend": ("", 4, "--world-size=4 is for a backend that runs on several ranks"),
}
SHARDS = {
    "operation": ({"swish": {}}, "'swish', which is no operation"),
    "gradient": ({"relu_vjp": {}}, "a gradient is cut as its operation is"),
    "argument": ({"relu": {"weight": 0}}, "'weight'; there are x, result"),
    "result": ({"attention_with_lse": {"result": 0}}, "'result'; there are q, k, v, mask, sinks, out, lse"),
    "axis": ({"relu": {"x": "rows"}}, "have x as 'rows'; give an axis"),
    "form": ({"relu": -1}, "its shards is no dict of dicts"),
}


@pytest.mark.parametrize("name", SIZES)
def test_the_number_of_ranks_is_read_from_the_file(name: str, tmp_path: Path) -> None:
    text, wanted, expected = SIZES[name]
    write(tmp_path, mine=text)
    if not isinstance(expected, str):
        assert choose_world_size("mine.py", tmp_path, wanted) == expected
        return
    with pytest.raises(BackendError) as refusal:
        choose_world_size("mine.py", tmp_path, wanted)
    assert expected in str(refusal.value)


@pytest.mark.parametrize("name", SHARDS)
def test_wrong_shards_are_refused(name: str) -> None:
    stated: Any
    stated, sentence = SHARDS[name]
    with pytest.raises(ValueError, match=r"^its shards") as refusal:
        Shards(stated)
    assert sentence in str(refusal.value)


def test_a_gradient_is_cut_as_its_argument_and_a_cotangent_as_its_result() -> None:
    shards = Shards({"linear": {"weight": 0, "bias": (0, "zigzag"), "result": -1}})
    assert shards.of_argument("linear", "weight") == Cut(0)
    assert shards.of_argument("linear", "bias") == Cut(0, "zigzag")
    assert shards.of_argument("linear", "x") is None
    assert shards.of_result("linear") == Cut(-1)
    assert shards.of_argument("relu", "x") is None


@pytest.mark.parametrize("text", ["world_size, shards = 2, {}\n", "world_size, ranks = 2, 'devices'\n"])
def test_a_backend_on_ranks_is_not_loaded_into_this_process(text: str, tmp_path: Path) -> None:
    write(tmp_path, mine=text)
    with pytest.raises(BackendError, match="it runs on several ranks, in processes of its own"):
        load("mine.py", tmp_path, {"relu"})
