"""Tests of the table on the terminal: its titles, its numbers, its legend, and cells of which nothing can be said."""

from typing import Any

from spec_tests.report.table import format_table
from spec_tests.report.verdict import Verdict

from ..support.handmade_reports import judged
from ..support.handmade_reports import verdict as handmade

COUNTS = {"examples": 4, "drawn": 4, "answered": 4}


def verdict(operation: str, law: str, dtype: str, status: str = "passed", **more: Any) -> Verdict:
    shares = (
        {"class": "fused", "worst": 0.1, "median": 0.0301} if law == "reference" else {"class": "", "worst": None, "median": None}
    )
    return judged(handmade(f"{operation}.{law}", dtype, status=status, **{**shares, **COUNTS, **more}))


def test_columns_have_titles_and_numbers_one_form() -> None:
    lines = format_table([verdict("relu", "reference", dtype) for dtype in ("float32", "bfloat16")], "default")
    assert lines[0].split() == ["float32", "bfloat16"]
    assert lines[1].split() == ["class", "worst", "median"] * 2
    assert lines[2].split() == ["relu", *["fused", "0.10", "0.03"] * 2]
    assert lines[1].index("worst") + len("worst") == lines[2].index("0.10") + len("0.10")


def test_the_legend_explains_what_appears_in_at_most_two_lines() -> None:
    plain = format_table([verdict("relu", "reference", "float32")], "default")
    assert len(plain) == 4
    assert "share of the allowed error" in plain[-1]
    without = format_table(
        [verdict("relu", "odd", "float32"), verdict("relu", "even", "float32", "not held", level="limits")], "default"
    )
    assert not any("share of the allowed error" in line for line in without)
    (legend,) = without[2:]
    assert "laws hold: " in legend
    assert "x among the dots: " in legend
    failing = format_table([verdict("relu", "reference", "float32"), verdict("gelu", "odd", "float32", "failed")], "default")
    assert failing[-1].strip().startswith("FAIL: ")
    assert len(failing) == 6


def test_a_bug_in_one_dtype_leaves_untried_dtypes_open_at_smoke() -> None:
    failing = [verdict("relu", "odd", "float64", "failed"), verdict("relu", "reference", "float64")]
    others = [verdict("relu", "reference", "float32"), verdict("relu", "reference", "float16"), verdict("relu", "odd", "float16")]
    row = format_table([*failing, *others], "smoke")[2]
    assert row.split()[1:] == ["1", "of", "2", "FAIL", "open", "fused", "0.10", "0.03"]
    assert "open" not in format_table([*failing, *others], "default")[2]


def test_an_operation_with_several_results_has_a_row_for_each() -> None:
    shares = {"class": "mixed", "worst": 0.5, "median": 0.25}
    results = {"out": shares, "lse": {**shares, "class": "fused", "worst": 0.1}, "unseen": {**shares, "worst": None}}
    several = verdict("attend", "reference", "float32", results=results)
    failing = [verdict("attend", "reference", "float16", results=results), verdict("attend", "odd", "float16", "failed")]
    lines = format_table([several, *failing, verdict("relu", "reference", "float16", results={})], "default")
    assert [line.split() for line in lines[2:6]] == [
        ["attend", "fused", "0.10", "0.03", "1", "of", "2", "FAIL"],
        ["out", "mixed", "0.50", "0.25"],
        ["lse", "fused", "0.10", "0.25"],
        ["relu", "fused", "0.10", "0.03"],
    ]
    assert lines[3].startswith("  out")
    gradient = format_table([verdict("attend_vjp", "reference", "float32", results=results)], "default")
    assert [line.split()[0] for line in gradient[2:]] == ["attend_vjp", "class:"]
