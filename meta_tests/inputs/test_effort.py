"""Test which dtypes, how many examples and which laws an effort tries."""

from collections import defaultdict

import pytest

from spec_tests.inputs.effort import EFFORTS, using_effort
from spec_tests.inputs.planned_examples import OF_EVERY_OPERATION, OF_ONE_OPERATION, OF_STATE, PLANNED, plan_examples
from spec_tests.running.selection import mending_order
from spec_tests.trials.trial import Trial

from ..measure.evidence import TABLE, plan, read_rows, render
from ..support.in_process import backend, trials

GRADIENTS = "deviation:softmax_vjp/last-axis"  # a backend with gradients of every operation; numpy-cpu has none


def trials_at(effort: str, law: str, name: str = "numpy-cpu") -> dict[str, list[Trial]]:
    """Return the trials of a law, by operation."""
    found = defaultdict(list)
    with using_effort(effort):
        for test, trial in trials(backend(name), about=lambda one: one.id.endswith(f".{law}")):
            found[test.invariant.id_for(trial.operation_name).partition(".")[0]].append(trial)
    return found


@pytest.mark.parametrize("law", ["reference", "dtype_shape_device", "inputs_unchanged"])
def test_laws_that_one_dtype_may_break_are_tried_in_every_dtype_at_smoke_effort(law: str) -> None:
    dtypes = backend("numpy-cpu").dtypes
    assert len(dtypes) > 1
    assert [trial.dtype for trial in trials_at("smoke", law)["rms_norm"]] == list(dtypes)


def test_another_law_is_tried_in_one_dtype_at_smoke_effort() -> None:
    found = trials_at("smoke", "layout_blind")
    of_memory = EFFORTS["smoke"].planned_examples(1, 1, PLANNED["operation.layout_blind"])
    assert [trial.max_examples for trial in found["rms_norm"]] == [of_memory]
    assert of_memory > 1
    assert [trial.max_examples for trial in found["transformer_block"]] == [1]


@pytest.mark.parametrize("effort", ["smoke", "default"])
def test_the_comparison_with_the_oracle_has_its_whole_share(effort: str) -> None:
    for trial in trials_at(effort, "reference")["rms_norm"]:
        assert trial.max_examples == EFFORTS[effort].examples(0.25, len(backend("numpy-cpu").dtypes))


def test_another_law_has_at_least_one_example_in_each_dtype_and_more_if_it_alone_catches_a_bug() -> None:
    effort, (few, many) = EFFORTS["default"], ("softmax.shift", "linear.exact_sums")
    assert PLANNED[many] > plan_examples(few, is_general=False, is_about_state=False) == OF_ONE_OPERATION
    assert plan_examples(few, is_general=True, is_about_state=False) == OF_EVERY_OPERATION
    assert plan_examples(few, is_general=True, is_about_state=True) == OF_STATE
    assert [trial.max_examples for trial in trials_at("default", "shift")["softmax"]] == [1] * 3
    shares = [trial.max_examples for trial in trials_at("default", "exact_sums")["linear"]]
    assert shares == [round(PLANNED[many] / len(shares))] * len(shares)
    assert [trial.max_examples for trial in trials_at("thorough", "shift")["softmax"]] == [53] * 3
    assert effort.planned_examples(1, 1, 4) == 4, "a backend of one dtype has as many in all"
    assert effort.planned_examples(1, 4, 1000) == effort.examples(1, 4), "never more than the whole share"
    assert EFFORTS["smoke"].planned_examples(1, 1, 32) == 4


def test_the_table_of_planned_examples_is_that_of_the_evidence() -> None:
    """Run `python -m meta_tests.measure.evidence` after a change of the laws or their costs."""
    assert TABLE.read_text(encoding="utf-8").endswith(render(plan(read_rows())))


def test_a_plan_gives_more_to_a_law_that_alone_catches_a_bug() -> None:
    caught = {"softmax.shift": {"float32": [1, 3]}}
    alone = {"id": "softmax/unseen", "caught": caught}
    assert plan([alone])["softmax.shift"][0] > OF_ONE_OPERATION
    beside = {
        "id": "softmax/unseen",
        "caught": {**caught, "softmax.reference": {"float32": [1, 0], "float64": [1, 0]}},
    }
    assert plan([beside]) == {}
    level = {"id": "softmax/unseen", "caught": {**caught, "softmax.bitwise_repeatable": {"float32": [1, 0]}}}
    assert plan([level]) == plan([alone]), "a level does not fail a run"
    often = {"id": "softmax/unseen", "caught": {"softmax.shift": {"float32": [4, 0]}}}
    assert plan([often])["softmax.shift"][0] < plan([alone])["softmax.shift"][0], "several runs say more than one"
    assert plan([{"id": "softmax/unseen", "caught": {"softmax.no_such_law": {"float32": [1, 0]}}}]) == {}


def test_comparisons_with_the_oracle_come_first_and_parts_before_what_is_made_of_them() -> None:
    keys = {
        (test.invariant.id_for(trial.operation_name), trial.dtype): mending_order(test.invariant, trial)
        for test, trial in trials(backend(GRADIENTS), names=("softmax", "scaled_dot_product_attention", "softmax_vjp"))
    }
    order = [law for law, _ in sorted(keys, key=keys.__getitem__)]
    expected = ["softmax.reference", "scaled_dot_product_attention.reference", "softmax.layout_blind", "softmax.shift"]
    expected += [
        "scaled_dot_product_attention.layout_blind",
        "scaled_dot_product_attention.order_of_keys",
        "softmax_vjp.reference",
    ]
    assert sorted(expected, key=order.index) == expected
    assert keys["softmax.shift", "float32"] < keys["softmax.shift", "float64"]


@pytest.mark.parametrize("effort", ["smoke", "default"])
def test_laws_about_16_bits_are_tried_in_no_other_dtype(effort: str) -> None:
    found = trials_at(effort, "mixed_dtypes")
    assert found.keys() == {"rms_norm", "layer_norm"}
    assert {trial.dtype for own in found.values() for trial in own} <= {"float16", "bfloat16"}


def test_the_costliest_laws_are_not_tried_at_smoke_effort() -> None:
    assert {"softmax_vjp", "transformer_lm_vjp"} <= trials_at("default", "linear_in_the_cotangent", GRADIENTS).keys()
    found = trials_at("smoke", "linear_in_the_cotangent", GRADIENTS)
    assert "softmax_vjp" in found
    assert "transformer_lm_vjp" not in found
