"""A student's adapters of CS336's assignment 5: right, and with a bug in each function that is tried."""

import re

import pytest

from ..support.paths import BACKENDS
from ..support.pytest_process import suite

pytest.importorskip("torch")
REFERENCE = ("--effort=smoke", "--hypothesis-seed=1", "-k", "reference and not vjp")
BUGS = {  # the operation that shows each function's bug, and its name; "" where none is known
    "run_compute_entropy": ("token_log_probs", "token_log_probs/entropy-negated"),
    "run_compute_group_normalized_rewards": ("group_advantages", "group_advantages/baseline-of-the-batch"),
    "run_compute_naive_policy_gradient_loss": ("policy_loss", "the result is negated only where objective = reinforce"),
    "run_compute_grpo_clip_loss": ("policy_loss", "policy_loss/clipped-on-the-wrong-side"),
    "run_compute_policy_gradient_loss": ("policy_loss", ""),
    "run_sft_microbatch_train_step": ("policy_loss", "policy_loss/constant-without-batch"),
    "run_grpo_microbatch_train_step": ("policy_loss", "mask, true everywhere"),
}
UNNAMED = "wrong answers that nothing known explains"


def test_a_right_file_passes_and_the_others_are_named() -> None:
    run = suite(BACKENDS / "cs336_alignment", "--backend=tests/adapters.py", *REFERENCE)
    assert run.code == 0, run.text
    passed = {fact["operation"] for fact in run.facts if fact["status"] == "passed"}
    assert passed == {"token_log_probs", "group_advantages", "policy_loss"}
    said = " ".join(run.text.split())
    assert "not covered by this suite: run_get_response_log_probs, run_masked_mean, run_masked_normalize" in said


@pytest.mark.nightly
@pytest.mark.parametrize("function", BUGS)
def test_a_bug_in_each_function_is_caught_and_named_or_honestly_unnamed(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUG_OF_ADAPTERS", function)
    run = suite(BACKENDS / "cs336_alignment_bugs", "--backend=adapters.py", *REFERENCE)
    operation, name = BUGS[function]
    ((found, what),) = re.findall(r"^cause \d+: (\w+): (.*)$", run.text, re.MULTILINE)
    assert found == operation
    assert (name or UNNAMED) in what
