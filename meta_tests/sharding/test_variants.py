"""Sharded implementations over gloo: right ones raise no alarm, and ones with a fault that others have made fail."""

from pathlib import Path

import pytest

from ..measure.sharded import run_variant
from ..support.pytest_process import suite
from ..support.sharded_variant import FIRST, SECOND, THIRD
from ..support.sharded_variants import VARIANTS

SAMPLE = {  # a fault by its operation and its name, and the law that fails first
    ("linear", "every rank adds the bias"): "linear.reference",
    ("linear", "every rank adds its share of the bias, whose gradient is then 1/n"): "linear_vjp.reference",
    ("linear", "rank 0 alone adds the bias after the sum"): "linear.ranks",
    ("rms_norm", "the gradient of the replicated gain is not reduced"): "rms_norm_vjp.reference",
    ("embedding", "the first row of a rank is found as if shards were even"): "embedding.reference",
    ("mixture_of_experts", "the experts' outputs are reduced twice"): "mixture_of_experts.reference",
    ("log_softmax", "what fills up the vocabulary takes part in the softmax"): "log_softmax.reference",
    ("scaled_dot_product_attention", "the keys are taken for those of the rank after"): "scaled_dot_product_attention.reference",
}
RIGHT_ON_DEVICES = ("linear", "rms_norm", "embedding", "cross_entropy", "grouped_query_attention", "attention_with_lse")


@pytest.mark.parametrize(("operation", "name"), SAMPLE)
def test_a_fault_is_caught(operation: str, name: str) -> None:
    (variant,) = (v for v in VARIANTS if (v.operation, v.name) == (operation, name))
    pytest.importorskip("jax" if variant.backend == THIRD else "torch")
    run = run_variant(variant, 3 if "rank after" in name else 2)  # on two ranks, the rank after is the rank before
    failed = [fact["id"] for fact in run.facts if fact["status"] == "failed"]
    assert failed == [SAMPLE[operation, name]], run.text


@pytest.mark.parametrize("backend", [FIRST, SECOND])
def test_the_right_ones_raise_no_alarm(backend: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    options = ("--dtype=float32", "--world-size=2", "--hypothesis-seed=0", "--time-limit=60")
    run = suite(tmp_path, f"--backend={backend.replace('_', '-')}", *options, "-k", "reference or ranks")
    assert run.code == 0, run.text
    assert run.count("passed") > 20


def test_the_right_ones_on_devices_raise_no_alarm(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    laws = " or ".join(f"{name}.reference or {name}.ranks or {name}_vjp.ranks" for name in RIGHT_ON_DEVICES)
    run = suite(tmp_path, "--backend=jax-shard-map", "--dtype=float32", "--world-size=3", "--hypothesis-seed=0", "-k", laws)
    assert run.code == 0, run.text
    assert run.count("passed") == 3 * len(RIGHT_ON_DEVICES)


def test_each_fault_is_one_change_of_the_right_code(tmp_path: Path) -> None:
    assert len({(v.operation, v.name, v.file) for v in VARIANTS}) == len(VARIANTS)
    for variant in VARIANTS:
        variant.write(tmp_path)  # which asserts that the text is there once
        compile((tmp_path / variant.file).read_text(encoding="utf-8"), variant.file, "exec")
