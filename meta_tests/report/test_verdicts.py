"""What a list of verdicts claims: which operations answered enough, which levels hold, what is open, and the score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spec_tests.inputs.effort import using_effort
from spec_tests.report import Report
from spec_tests.report.closing import format_closing
from spec_tests.report.records import from_record, read_line
from spec_tests.report.run_lines import Footer, RunError
from spec_tests.report.score import compute_score
from spec_tests.report.table import format_shares, format_table
from spec_tests.report.undeclared_double import describe_undeclared_double, is_undeclared_double
from spec_tests.report.verdict import RecordedVerdict, StatedShares
from spec_tests.report.verdicts import (
    LAWS_HOLD,
    count_levels,
    count_variants,
    describe_domains,
    describe_known_failures,
    describe_not_tried,
    describe_shortfall,
    describe_shortfalls,
    describe_stale_entries,
    find_shortfall,
    find_shortfalls,
    is_open,
)
from spec_tests.specification.formats import FLOAT64_IN_FLOAT32
from spec_tests.trials.coverage import PLAIN

from ..support.handmade_reports import FOOTER, HEADER, judged, report
from ..support.handmade_reports import failed as handmade_failure
from ..support.handmade_reports import verdict as handmade_verdict

COVERED = {"drawn": 100, "answered": 100, "variants": {"answered": [PLAIN], "refused": []}}


def verdict(name: str = "relu.reference", dtype: str = "float32", **other: Any) -> RecordedVerdict:
    return judged(handmade_verdict(name, dtype, **{**COVERED, **other}))


def failed(name: str = "relu.reference", dtype: str = "float32", **other: Any) -> RecordedVerdict:
    return judged({**handmade_failure(name, dtype), **COVERED, **other})


@pytest.mark.parametrize(
    ("fields", "shortfall"),
    [
        ({}, ""),
        ({"answered": 50}, ""),
        ({"answered": 49}, "answered 49 of 100"),
        ({"answered": 0}, "answered 0 of 100"),
        ({"unexplained": 1}, "answered 100 of 100"),
        ({"answered": 40, "refusals": [["signature", "no layout", 20]]}, ""),
        ({"answered": 39, "refusals": [["signature", "no layout", 20]]}, "answered 39 of 100"),
        ({"answered": 40, "refusals": [["backend", "no", 20]]}, "answered 40 of 100"),
        ({"answered": 0, "drawn": 0}, ""),
        ({"answered": 1, "level": "limits"}, ""),
        ({"answered": 1, "status": "failed"}, ""),
        ({"answered": 1, "id": "relu.zero"}, ""),
    ],
)
def test_a_comparison_answers_enough_if_it_answers_half(fields: dict[str, Any], shortfall: str) -> None:
    assert find_shortfall(verdict(**fields)) == shortfall


def test_an_operation_that_answers_nothing_at_all_is_absent_and_no_shortfall() -> None:
    nothing = verdict(answered=0, examples=0)
    assert find_shortfalls([nothing]) == {}
    assert find_shortfalls([nothing, verdict("relu.zero")]) == {("relu", "float32"): nothing}
    assert find_shortfalls([nothing, verdict("relu.limits", level="limits")]) == {}


def test_a_shortfall_says_what_is_refused_and_the_line_that_states_it() -> None:
    region = verdict(answered=10, region=["d is above 8", 'domain = {"relu": {"d": range(9)}}'])
    assert describe_shortfalls([region]) == [
        ("relu answered 10 of 100 in float32: d is above 8", 'domain = {"relu": {"d": range(9)}}')
    ]
    assert describe_shortfall(region).endswith('d is above 8; add domain = {"relu": {"d": range(9)}}')
    assert describe_shortfall(replace(region, drawn=1, answered=0)) == "", "one example does not show how much is refused"
    narrow = verdict(
        dtype="float64", answered=0, examples=0, variants={"answered": [], "refused": [PLAIN]}, refusals=[["backend", "no", 9]]
    )
    others = [verdict(dtype="float32"), verdict("gelu.reference", "float16"), verdict("silu.reference", "float16")]
    assert describe_shortfalls([narrow, *others]) == [
        (
            'relu answered 0 of 100 in float64: refuses whatever is drawn; it says "no"',
            'domain = {"relu": {"dtype": ("float32",)}}',
        )
    ]
    unknown = verdict(answered=10, refusals=[["backend", "no", 90]])
    assert describe_shortfalls([unknown]) == [
        ('relu answered 10 of 100 in float32: no single size or option tells what it refuses; it says "no"', "")
    ]


def test_variants_that_some_dtype_refuses_are_refused() -> None:
    both = [verdict(variants={"answered": ["mask", "bias"], "refused": []}),
            verdict(dtype="float16", variants={"answered": ["mask"], "refused": ["bias"]})]  # fmt: skip
    assert count_variants(both) == {"relu": ({"mask"}, {"bias"})}
    assert count_variants([verdict("relu.zero")]) == {}


def test_levels_are_counted_as_they_hold() -> None:
    levels = [verdict("a.limits", level="limits"), verdict("b.limits", level="limits", status="not held"),
              verdict("c.limits", level="limits", status="failed"), verdict("d.limits", level="limits", status="skipped"),
              verdict("a.quarantine", level="quarantine"), verdict()]  # fmt: skip
    assert count_levels(levels) == {"limits": (1, 3), "quarantine": (1, 1)}


@pytest.mark.parametrize(
    ("records", "dtype", "effort", "expected"),
    [
        ([failed("relu.zero", "float16"), verdict(dtype="float32")], "float32", "smoke", True),
        ([failed("relu.zero", "float16"), verdict("relu.zero", "float32")], "float32", "smoke", False),
        ([failed("relu.zero", "float16"), verdict(dtype="float32")], "float32", "default", False),
        ([failed("relu.zero", "float16"), failed("relu.one", "float32")], "float32", "smoke", False),
        ([failed("relu.zero", "float16"), verdict("relu.zero", "float32", status="skipped")], "float32", "smoke", True),
        ([verdict("relu.zero", "float16"), verdict(dtype="float32")], "float32", "smoke", False),
    ],
)
def test_a_dtype_is_open_where_a_law_that_fails_elsewhere_was_not_tried(
    records: list[RecordedVerdict], dtype: str, effort: str, expected: bool
) -> None:
    assert is_open(records, dtype, effort) is expected


def test_what_was_not_tried_and_why() -> None:
    def skipped(name: str, reason: str, **other: Any) -> RecordedVerdict:
        return verdict(name, status="skipped", reason=f"Skipped: {reason}", examples=0, worst=None, median=None, **other)

    records = [
        skipped("rope.reference", "mine does not implement rope"),
        skipped("gelu.reference", "mine does not implement gelu"),
        skipped("silu.reference", "mine does not implement silu; it has swish"),
        skipped("softmax.axis", "mine's softmax has no argument axis, which the law varies"),
        skipped("relu.long", "no example that was drawn calls the backend"),
        verdict(),
    ]
    assert describe_not_tried(records) == [
        "relu (no example that was drawn calls the backend)",
        "mine does not implement gelu, rope",
        "mine does not implement silu; it has swish",
        "laws of softmax that vary axis, which it lacks",
    ]
    assert "2 other operations" in describe_not_tried(records, 1)[1]


def test_lines_on_domains_known_and_stale_entries() -> None:
    records = [
        verdict(domain="d: 8"), verdict("silu.reference", domain="d: 8"), verdict("gelu.reference", domain="", known="flaky"),
        verdict("rope.reference", domain="d: 4", examples=0), verdict("rope.zero", stale="known.txt:3"),
    ]  # fmt: skip
    assert describe_domains(records) == ["relu, silu: d: 8"]
    assert describe_known_failures(records) == ["flaky: gelu.reference in float32"]
    assert describe_stale_entries(records) == ["known.txt:3: rope.zero in float32"]


# --- the table and the verdict at the end ----------------------------------------------------------------------------


def test_a_cell_of_the_table_shows_the_worst_news() -> None:
    assert format_shares(StatedShares(precision="mixed", worst=0.876, median=0.123)) == "mixed   0.88   0.12"

    def cell(*records: RecordedVerdict) -> str:
        line = next(line for line in format_table(list(records), "default") if line.startswith("relu"))
        return line.removeprefix("relu").strip()

    assert cell(verdict(**{"class": "mixed", "worst": 0.876, "median": 0.123})) == "mixed   0.88   0.12"
    assert cell(verdict(), failed("relu.zero")) == "1 of 2 FAIL"
    assert cell(verdict(answered=10)) == "answered 10 of 100"
    assert cell(verdict("relu.zero", worst=None, median=None)) == LAWS_HOLD
    assert cell(verdict(), verdict("relu.limits", level="limits", status="not held")).startswith("fused")
    assert format_table([verdict("relu.limits", level="limits")], "default") == []


def test_the_end_of_a_run_says_what_conforms_and_what_does_not() -> None:
    with using_effort("default"):
        lines = format_closing(
            [verdict(), failed("silu.reference"), verdict("silu.zero"), verdict("gelu.reference", answered=10),
             verdict("glu.zero", worst=None, median=None), verdict("rope.reference", examples=0, worst=None, median=None),
             failed("tanh.reference", known="failing")],
        )  # fmt: skip
    text = "\n".join(lines)
    assert "mine: 1 cause of failures in 1 operation" in text
    assert "  conforms: relu\n" in text
    assert "  fails only as a file says: tanh\n" in text
    assert "  answered too little to conform: gelu\n" in text
    assert "  not compared with the oracle: glu\n" in text or "  not compared with the oracle: glu" in lines
    with using_effort("smoke"):
        assert "  nothing wrong found at smoke effort: relu" in format_closing([verdict()])


def test_one_example_that_was_not_answered_does_not_show_that_too_little_is() -> None:
    """As smoke effort draws it in one dtype."""

    def of_glu(dtype: str, drawn: int) -> RecordedVerdict:
        return verdict("glu.reference", dtype, drawn=drawn, answered=0, examples=0, worst=None, median=None)

    with using_effort("smoke"):
        one, two = (format_closing([verdict("glu.reference"), of_glu("float16", drawn)]) for drawn in (1, 2))
    assert "  nothing wrong found at smoke effort: glu" in one
    assert "  answered too little to conform: glu" in two
    assert describe_shortfalls([verdict("glu.reference"), of_glu("float16", 1)]) == []


def test_a_verdict_with_known_failures_alone_does_not_say_that_nothing_is_wrong() -> None:
    with using_effort("default"):
        first, *_ = format_closing([verdict(), failed("tanh.reference", known="failing")])
    assert first == "mine: nothing fails but what a file lists"


def test_a_failed_operation_that_another_name_is_taken_for_is_said_to_be_so() -> None:
    """Such a function may be a part of another operation, with a contract of its own."""
    lines = format_closing(
        [verdict(), failed("rope.reference", names="apply_rope for rope"), verdict("silu.zero", names="swish for silu")]
    )
    assert "  taken by its name: apply_rope for rope; rename it if it is something else" in lines
    assert not any("swish" in line for line in lines)


def test_a_run_with_a_report_is_not_told_to_keep_one() -> None:
    with using_effort("default"):
        assert format_closing([verdict()])[-1] == "next: keep the verdict with --report=DIR, and try more with --effort=thorough"
        assert format_closing([verdict()], is_kept=True)[-1] == "next: try more with --effort=thorough"


def test_the_verdict_says_which_levels_are_not_reached_that_spoil_programs_silently() -> None:
    records = [
        verdict(),
        verdict("relu.limits", level="limits", status="not held"),
        verdict("relu.limits", "float16", level="limits", status="not held"),
        verdict("silu.hidden", level="quarantine", status="not held"),
        verdict("silu.same_bits", level="bitwise-repeatable", status="not held"),
        verdict("gelu.nan", level="nan-propagation", status="passed"),
    ]
    lines = format_closing(records)
    assert "  levels not reached: quarantine (silu); limits (relu)" in lines
    assert not any("levels not reached" in line for line in format_closing([verdict()]))


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"adamw_decay": {"after": 8}}, "adamw_decay after, where PyTorch has before (adamw_step)"),
        ({"adamw_decay": {"before": 8}}, ""),
        ({"adamw_decay": {"before": 7, "after": 1}}, ""),
        ({"cache_update": {"in place": 8}}, ""),
    ],
)
def test_the_verdict_says_which_inferred_choices_are_not_those_of_pytorch(answers: dict[str, Any], said: str) -> None:
    conventions = {"stated": {}, "answers": answers}
    lines = format_closing([verdict("adamw_step.adamw_decay", conventions=conventions)])
    assert [line for line in lines if "PyTorch" in line] == [f"  with choices that differ from PyTorch's: {said}"] * bool(said)


# --- float64 that was never stated -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, True), ({"dtypes_stated": True}, False), ({"dtype": "float32"}, False), ({"status": "passed"}, False),
     ({"explained": {"relu/another": "another one"}}, False)],
)  # fmt: skip
def test_float64_in_float32_is_no_bug_only_where_no_dtypes_are_stated(fields: dict[str, Any], expected: bool) -> None:
    fields = dict(fields)
    explained = fields.pop("explained", {FLOAT64_IN_FLOAT32: "computed in float32"})
    found = judged({**handmade_failure("relu.reference", "float64", explained=explained), "dtypes_stated": False, **fields})
    assert is_undeclared_double(found) is expected
    assert bool(describe_undeclared_double([found])) is expected


# --- the score -------------------------------------------------------------------------------------------------------


def earning(share: float, drawn: int = 10) -> dict[str, float]:
    """Return the skill of a verdict whose answers earned this share of what could be earned in the examples drawn, of ten."""
    return {"earned": 4.0 * share, "possible": 4.0, "planned": 10, "drawn": drawn}


def score(folder: Path, *records: RecordedVerdict, dtypes: tuple[str, ...] = (), exit_status: int = 0, **footer: Any) -> Any:
    ended = from_record(Footer, {**FOOTER, **footer})
    return compute_score(Report(folder, read_line(HEADER), verdicts=list(records), footer=ended), "relu", dtypes, 3, exit_status)


def test_the_score_is_made_of_skill_precision_and_laws(tmp_path: Path) -> None:
    right = verdict(skill=earning(1))
    assert score(tmp_path, right).value == 1
    assert score(tmp_path, replace(right, precision="mixed")).value == pytest.approx(5 / 6)
    assert score(tmp_path, replace(right, precision="eager")).value == pytest.approx(2 / 3)
    assert score(tmp_path, verdict(skill=earning(0.5))).value == pytest.approx(0.5)
    assert score(tmp_path, verdict(skill=earning(1, drawn=5))).value == pytest.approx(0.5)
    assert score(tmp_path, verdict()).value == 0
    assert score(tmp_path, verdict(answered=50, skill=earning(1))).coverage == 0.5
    assert score(tmp_path, right, dtypes=("float32", "float16")).value == pytest.approx(0.5 * (1 + 0.5) / 2)
    broken = score(tmp_path, right, failed("relu.zero"))
    assert (broken.laws, broken.coverage) == (0.5, 1.0)
    assert broken.value == pytest.approx(0.5 / 4)
    assert score(tmp_path, failed()).value == 0
    assert score(tmp_path, failed(skill=earning(1), examples=0), verdict("relu.zero")).value == pytest.approx(0.5 / 4)
    assert score(tmp_path, right, verdict("silu.reference", answered=0)).value == 1
    assert score(tmp_path, right, verdict("relu.limits", level="limits", status="not held")).value == 1


@pytest.mark.parametrize(
    ("record", "footer", "reason"),
    [
        ({}, {"complete": False, "reason": "stopped"}, "the run did not end as it should: stopped"),
        ({}, {"exit_status": 1}, "the run ended with status 1, and its report says 0"),
        ({"oracle": True}, {}, "the backend imports the reference equations"),
        ({"examples": 0, "drawn": 0}, {}, "nothing was tried"),
        ({"status": "skipped"}, {}, "nothing was tried"),
        ({"skill": {**earning(0), "possible": 0.0}}, {}, "a trivial answer is right in every example that was drawn"),
    ],
)
def test_what_has_no_score(record: dict[str, Any], footer: dict[str, Any], reason: str, tmp_path: Path) -> None:
    found = score(tmp_path, verdict(**{"skill": earning(1), **record}), **footer)
    assert (found.value, found.reason) == (0.0, reason)


def test_a_run_with_errors_has_no_score(tmp_path: Path) -> None:
    error = RunError(node="", when="setup", message="")
    verdicts, footer = [verdict(skill=earning(1))], from_record(Footer, FOOTER)
    made = Report(tmp_path, read_line(HEADER), verdicts=verdicts, errors=[error], footer=footer)
    assert compute_score(made, "relu", (), 3, 0).reason == "the run had errors"
    assert report(tmp_path / "r", verdict()).complete


def test_a_run_that_tried_nothing_does_not_say_that_nothing_is_wrong() -> None:
    lines = format_closing([verdict(examples=0, worst=None, median=None, status="skipped", reason="run_relu is not written yet")])
    assert lines[0] == "mine: nothing was tried"
    assert lines[-1].startswith("next: write one of the operations")
    missing = "it imports 'einops', which is not installed here; name the Python that has it, as in --python=.venv/bin/python"
    lines = format_closing([verdict(examples=0, worst=None, median=None, status="skipped", reason=missing)])
    assert lines[-1].startswith("next: a package is missing")
    assert "--python=.venv/bin/python" in lines[-1]
