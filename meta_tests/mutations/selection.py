"""Which tests judge a file: the fast ones of its test folder, then the suite on a few operations."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

FOLDERS = MappingProxyType(
    {  # a folder of the suite, or the beginning of a file's name there: files of tests, or parts of them
        "bounds/": "bounds/test_rules bounds/test_expectation bounds/test_sampled_error bounds/test_tightness"
        " bounds/test_prefix_sums bounds/test_kinks bounds/test_open_choices",
        "specification/": "bounds/test_formats bounds/test_rules bounds/test_expectation bounds/test_tightness",
        "calls/": "calls/test_messages calls/test_histories calls/test_dtype_rules calls/test_comparisons"
        " running/test_coverage_counts implementation/test_several_results calls/test_settled_conventions"
        " bounds/test_open_choices",
        "inputs/": "inputs/test_regimes_hold inputs/test_draws_hold inputs/test_shapes inputs/test_effort"
        " inputs/test_distinct_sizes",
        "helpers/": "calls/test_comparisons bounds/test_open_choices",
        "trials/": "calls/test_shares running/test_coverage_counts calls/test_settled_conventions",
        "implementation/": "implementation/test_states implementation/test_guard",
        "running/": "running/test_ends_of_runs",
        "report/": "report/test_verdicts report/test_records report/test_table",
        "processes/": "processes/test_trees processes/test_message_limits processes/test_process_messages",
        "tampering/": "tampering/test_snapshots",
        "diagnosis/": "deviations/test_conditions deviations/test_region_words deviations/test_facts_of_calls",
    }
)
SMOKE = ("--backend=numpy-cpu", "--effort=smoke", "-k", "softmax or rms_norm or rope or swiglu", "spec_tests")
DAILY = ("-m", "not slow and (not nightly or rotating)", "--hypothesis-profile=ci")


def select_tests(file: str) -> tuple[tuple[str, ...], ...]:
    """Return the arguments of the runs of pytest that judge a file, in the order in which they are tried."""
    return (*DAILY, *_list_files(file)), SMOKE


def select_all_tests(files: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the arguments of the runs of pytest that judge any of these files."""
    return (*DAILY, *dict.fromkeys(test for file in files for test in _list_files(file))), SMOKE


def _list_files(file: str) -> list[str]:
    inside = file.removeprefix("spec_tests/")
    tests = next(tests for folder, tests in FOLDERS.items() if inside.startswith(folder))
    return [f"meta_tests/{test}.py" for test in tests.split()]
