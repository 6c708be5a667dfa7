"""Mistakes of four ranks in a mesh are named, in implementations that no test of the search knows; right ones raise no alarm."""

from pathlib import Path

import pytest

from ..support.paths import BACKENDS
from ..support.pytest_process import suite, write

RIGHT = (BACKENDS / "sharded" / "mesh_layouts.py").read_text()
PLACED = (BACKENDS / "sharded" / "placements.py").read_text()
SUM = "y = AllReduce.apply(h @ w2.double().mT, TP_GROUP)"
NUMBER = "the number of ranks along dp or the number of ranks along tp"
WRONG: dict[str, tuple[str, str, str, str, str]] = {  # the right code, a part of it, the mistake, the law, and what is said
    "a bias in each summand": (
        RIGHT,
        f"{SUM}\n    return (y if b2 is None else y + b2).to(x.dtype)",
        f"{SUM.replace('h @ w2.double().mT', 'h @ w2.double().mT + (0 if b2 is None else b2)')}\n    return y.to(x.dtype)",
        "feed_forward.reference",
        "along tp, b2 is added once for each rank",
    ),
    "a sum that is left out": (
        RIGHT,
        SUM,
        "y = h @ w2.double().mT",
        "feed_forward.reference",
        "along tp, each rank has the result of its own part alone: it is not summed over the ranks",
    ),
    "a summand in 16 bits": (
        RIGHT,
        SUM,
        SUM.replace("h @ w2.double().mT", "(h @ w2.double().mT).bfloat16().double()"),
        "feed_forward.reference",
        "along tp, the parts of the result are stored in bfloat16 before they are summed",
    ),
    "a gradient that is not summed": (
        RIGHT,
        "F.linear(Enter.apply(x, TP_GROUP).double()",
        "F.linear(x.double()",
        "feed_forward_vjp.reference",
        "along tp, each rank has the gradient of x of its own part alone: it is not summed over the ranks",
    ),
    "a whole gradient where a summand is due": (
        RIGHT,
        "Enter.apply(x, TP_GROUP).double(), w1.double()",
        "Enter.apply(x, TP_GROUP).double(), Enter.apply(w1, DP_GROUP).double()",
        "feed_forward_vjp.reference",
        f"the gradient of w1 is multiplied by {NUMBER}",
    ),
    "tokens that are scattered and not summed": (
        RIGHT,
        "return summed(x, TP_GROUP).split(lengths_of(",
        "return x.split(lengths_of(",
        "swiglu.reference",
        "along tp, each rank has the result of its own part alone: it is not summed over the ranks",
    ),
    "a whole result where a summand is due": (
        RIGHT,
        "return (attend(q, k, v, is_causal).transpose(-2, -3).flatten(-2) @ w_o.double().mT).to(x.dtype)",
        "y = attend(q, k, v, is_causal).transpose(-2, -3).flatten(-2) @ w_o.double().mT\n"
        "    return AllReduce.apply(y, TP_GROUP).to(x.dtype)",
        "multihead_self_attention.reference",
        f"the result is multiplied by {NUMBER}",
    ),
    "rows that are not counted from the first of the rank": (
        RIGHT,
        "own = token_ids - first",
        "own = token_ids",
        "embedding.reference",
        "along tp, token ids are not counted from the rank's first",
    ),
    "a striped result that is taken for contiguous parts": (
        RIGHT,
        '"result": {"dp": -2, "tp": (-1, "striped")}',
        '"result": {"dp": -2, "tp": -1}',
        "glu.reference",
        "the parts of the result that ranks answer are striped parts along tp",
    ),
    "a bias of the wrong axis": (
        PLACED,
        "DP, TP = divmod(",
        "TP, DP = divmod(",
        "linear.reference",
        "bias is added by the ranks that are the first along dp",
    ),
    "summands that are not summed": (
        PLACED,
        "        dist.all_reduce(total)\n",
        "",
        "add_rms_norm.reference",
        "each rank has x of its own part alone: it is not summed over the ranks",
    ),
}


@pytest.mark.slow
@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("name", WRONG)
def test_what_the_ranks_compute_is_said(name: str, tmp_path: Path) -> None:
    right, part, mistake, law, said = WRONG[name]
    assert right.count(part) == 1
    write(tmp_path, mine=right.replace(part, mistake))
    done = suite(tmp_path, "--backend=mine.py", "--effort=default", "--hypothesis-seed=0", "-k", f"{law} and float32")
    assert done.code == 1, done.text
    assert f": {said}\n" in done.text


@pytest.mark.slow
@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("seed", range(4))
def test_right_code_raises_no_alarm(seed: int, tmp_path: Path) -> None:
    write(tmp_path, mine=RIGHT)
    done = suite(tmp_path, "--backend=mine.py", "--effort=smoke", f"--hypothesis-seed={seed}", "-k", "reference or ranks")
    assert done.code == 0, done.text
    assert "nothing wrong found" in done.text
