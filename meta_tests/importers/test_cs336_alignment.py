"""A student's adapters of CS336's assignment 5: right, and with a bug in each function that is tried."""

import re
from pathlib import Path

import pytest

from ..support.paths import BACKENDS
from ..support.pytest_process import suite, write

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


LATER = """
    import torch


    def run_compute_group_normalized_rewards(
        raw_rewards, group_size, baseline="mean", advantage_eps=1e-6, advantage_normalizer="std"
    ):
        groups = raw_rewards.reshape(-1, group_size)
        advantages = groups - groups.mean(-1, keepdim=True)
        if advantage_normalizer == "std":
            advantages = advantages / (groups.std(-1, keepdim=True) + advantage_eps)
        return advantages.flatten(), {}


    def run_compute_policy_gradient_loss(
        raw_rewards_or_advantages, policy_log_probs, importance_reweighting_method="none",
        old_log_probs=None, cliprange=None, response_mask=None,
    ):
        if importance_reweighting_method == "none":
            return -raw_rewards_or_advantages * policy_log_probs, {}
        if importance_reweighting_method != "grpo":
            raise NotImplementedError
        ratio = (policy_log_probs - old_log_probs).exp()
        clipped = ratio.clamp(1 - cliprange, 1 + cliprange)
        return -torch.minimum(ratio * raw_rewards_or_advantages, clipped * raw_rewards_or_advantages), {}


    def run_aggregate_loss_across_microbatch(
        per_token_policy_gradient_loss, mask, loss_normalization="sequence", normalization_constant=None
    ):
        total = (per_token_policy_gradient_loss * mask).sum(-1)
        if loss_normalization == "constant":
            return total.sum() / normalization_constant
        return (total / mask.sum(-1)).mean()
"""
BUGS_OF_2026 = {  # what is written in its place, the operation that shows it, and its name
    "groups.std(-1, keepdim=True)": ("groups.std()", "group_advantages"),
    "total.sum() / normalization_constant": ("total.mean() / normalization_constant", "policy_loss"),
    "return -raw_rewards_or_advantages * policy": ("return raw_rewards_or_advantages * policy", "policy_loss"),
}


def test_the_functions_of_2026_are_called_as_they_are(tmp_path: Path) -> None:
    write(tmp_path, adapters=LATER)
    run = suite(tmp_path, "--backend=adapters.py", "--effort=smoke", "--hypothesis-seed=1", "-k", "reference")
    assert run.code == 0, run.text
    assert {fact["operation"] for fact in run.facts if fact["status"] == "passed"} == {
        "group_advantages",
        "policy_loss",
        "policy_loss_vjp",
    }
    assert not [fact for fact in run.facts if fact["status"] == "passed" and fact["refused"]]


@pytest.mark.parametrize("right", BUGS_OF_2026)
def test_a_bug_in_a_function_of_2026_is_caught(right: str, tmp_path: Path) -> None:
    wrong, operation = BUGS_OF_2026[right]
    write(tmp_path, adapters=LATER.replace(right, wrong))
    run = suite(tmp_path, "--backend=adapters.py", *REFERENCE)
    assert re.findall(r"^cause \d+: (\w+): ", run.text, re.MULTILINE) == [operation], run.text


def test_a_function_with_other_arguments_than_the_assignments_is_not_written(tmp_path: Path) -> None:
    other = LATER.replace("raw_rewards,", "rewards_of_all,").replace("importance_reweighting_method", "method")
    write(tmp_path, adapters=other)
    run = suite(tmp_path, "--backend=adapters.py", *REFERENCE)
    assert run.code == 5, run.text
    assert "it has no run_compute_group_normalized_rewards that takes raw_rewards, group_size" in " ".join(run.text.split())
