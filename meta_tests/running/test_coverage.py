"""Tests of coverage: a backend that refuses what is drawn, or that states a tiny domain, is never green without saying so."""

import functools
import inspect
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import spec_tests
from spec_tests.report.backend_results import BackendResults, build_results
from spec_tests.report.badge import format_badge
from spec_tests.report.github_step import format_step_summary
from spec_tests.report.page import render_page
from spec_tests.report.records import to_record
from spec_tests.report.terminal import format_remarks, format_table
from spec_tests.report.verdict import RecordedVerdict

from ..support.handmade_reports import judged, report, verdict
from ..support.in_process import backend
from ..support.pytest_process import NUMPY, RMS_NORM, SOFTMAX, pytest_run, suite, write
from ..support.seeds import draw_seed

RIGHT = backend("numpy-cpu").source
SERVING = ("sinks", "is_causal", "scale", "softcap", "left_window", "right_window")
OPTIONS = {
    "softmax": (),
    "rms_norm": (),
    "rope": ("inverse_frequencies", "theta", "layout", "rotary_dim", "attention_factor", "sections", "section_layout"),
    "scaled_dot_product_attention": ("mask", "bias", "is_causal", "scale", "softcap"),
    "paged_attention": SERVING,
    "variable_length_attention": SERVING,
    "moe_router": ("bias", "scoring", "renormalize", "scaling_factor", "groups"),
    "cross_entropy": ("ignore_index", "label_smoothing", "z_loss", "softcap", "reduction"),
}
DTYPES = ("float64", "float32", "float16")
Predicate = Callable[[tuple[Any, ...], dict[str, Any], int], bool]


def draw_predicate(kind: str, operation: str, source: random.Random) -> Predicate:
    """Return when the backend refuses: a function of the arrays, the keywords, and the number of the call."""
    size, step, count = source.choice((2, 8, 33, 100)), source.choice((2, 3, 4)), source.randint(1, 6)
    dtype, share, bound = source.choice(DTYPES), source.choice((0.05, 0.5, 0.95)), source.choice((0.0, 0.5, 2.0))
    option = source.choice(OPTIONS[operation] or ("",))
    defaults = {name: p.default for name, p in inspect.signature(getattr(RIGHT, operation)).parameters.items()}
    predicates: dict[str, list[Predicate]] = {
        "size": [
            lambda arrays, keywords, calls: arrays[0].shape[-1] > size,
            lambda arrays, keywords, calls: arrays[0].shape[-1] <= size,
            lambda arrays, keywords, calls: arrays[0].shape[-1] % step != 0,
            lambda arrays, keywords, calls: arrays[0].ndim > 2,
            lambda arrays, keywords, calls: arrays[0].size > 4 * size,
        ],
        "value": [
            lambda arrays, keywords, calls: bool(np.any(np.abs(arrays[0]) > bound)),
            lambda arrays, keywords, calls: arrays[0].size > 0 and arrays[0].flat[0] > bound,
        ],
        "option": [
            lambda arrays, keywords, calls: (
                keywords.get(option) is not None
                and (isinstance(keywords[option], np.ndarray) or keywords[option] != defaults.get(option))
            )
        ],
        "dtype": [lambda arrays, keywords, calls: arrays[0].dtype == dtype],
        "call count": [
            lambda arrays, keywords, calls: calls % (count + 1) == 0,
            lambda arrays, keywords, calls: calls > 3 * count,
        ],
        "chance": [lambda arrays, keywords, calls: source.random() < share],
    }
    return source.choice(predicates[kind])


class Refusing:
    """A backend whose only operation is right where it answers. It refuses what the predicate says."""

    framework, name, dtypes = "numpy", "mine", DTYPES

    def __init__(self, operation: str, refuses: Predicate, domain: dict[str, Any] | None = None):
        self.refuses, self.calls, self.refused = refuses, 0, 0
        self.domain = {operation: domain} if domain else {}
        right = getattr(RIGHT, operation)

        @functools.wraps(right)
        def answer(*arrays: Any, **keywords: Any) -> Any:
            self.calls += 1
            if self.refuses(arrays, keywords, self.calls):
                self.refused += 1
                raise NotImplementedError("not today")
            return right(*arrays, **keywords)

        setattr(self, operation, answer)


def compare(backend: Any, operation: str, **arguments: Any) -> list[RecordedVerdict]:
    """Return the verdicts of the comparison with the oracle, whatever they cover."""
    try:
        records = spec_tests.check(backend, f"{operation}.reference", coverage="any", **arguments)
    except spec_tests.DoesNotConform as nothing_answered:
        records = nothing_answered.verdicts
    return [judged({**verdict(record.id, record.dtype), **to_record(record)}) for record in records]


def show(folder: Path, records: list[RecordedVerdict], effort: str = "smoke") -> tuple[BackendResults, dict[str, str]]:
    """Return the results of the records, and the texts that users see of them."""
    (result,) = results = build_results([report(folder, *records)])
    terminal = "\n".join([*format_table(records, effort), *format_remarks(records)])
    texts = {
        "badge": format_badge(results),
        "summary": format_step_summary(results),
        "page": render_page(results),
        "terminal": terminal,
    }
    return result, texts


KINDS = ("size", "value", "option", "dtype", "call count", "chance")
REFUSALS = [(kind, operation) for kind in KINDS for operation in OPTIONS if kind != "option" or OPTIONS[operation]]


@pytest.mark.parametrize("efforts", [("smoke",), pytest.param(("default", "smoke", "smoke"), marks=pytest.mark.nightly)], ids=len)
@pytest.mark.parametrize(("kind", "operation"), REFUSALS)
def test_a_refusing_backend_is_not_green_without_saying_so(
    kind: str, operation: str, efforts: tuple[str, ...], tmp_path: Path
) -> None:
    for round_number, effort in enumerate(efforts):
        seed = draw_seed(f"{kind} {operation} {round_number}")
        refuses = draw_predicate(kind, operation, random.Random(seed))
        refusing = Refusing(operation, refuses)
        records = compare(refusing, operation, effort=effort)
        if not refusing.refused or not any(record.answered for record in records):
            continue
        result, texts = show(tmp_path / str(round_number), records)
        badge = json.loads(texts["badge"])
        if result.tone == "good":
            assert kind == "option" or OPTIONS[operation], (seed, records)
            assert "variants" in badge["message"], (seed, records)
            assert "refuses these optional variants:" in texts["terminal"], seed
            assert "Optional variants that it refuses" in texts["page"], seed
            assert "Optional variants that it refuses" in texts["summary"], seed
        else:
            assert badge["color"] == "lightgrey", seed
            assert "conform" not in badge["message"], seed
            short = [record for record in records if record.answered < record.drawn]
            assert any(f"answered {v.answered} of {v.drawn}" in texts["terminal"] for v in short), seed
            assert "answered " in texts["page"], seed
            assert "⚪ answered " in texts["summary"], seed
            repeated = Refusing(operation, refuses)
            if kind in ("size", "dtype") and not OPTIONS[operation]:
                with pytest.raises(spec_tests.DoesNotConform, match=r"answered \d+ of \d+"):
                    spec_tests.check(repeated, f"{operation}.reference")


@pytest.mark.parametrize(
    ("operation", "domain"),
    [
        ("rms_norm", {"d": (3,)}),
        ("rms_norm", {"eps": (1e-5,), "batch_dims": (1,)}),
        ("softmax", {"axis": (-1,), "n": (1, 2)}),
        ("softmax", {"empty": False}),
        ("rope", {"theta": (10000.0,), "d_k": (2,), "positions": "consecutive"}),
        ("scaled_dot_product_attention", {"n": (1,), "m": (1,)}),
        ("paged_attention", {"page_size": (1,), "b": (1,)}),
        ("variable_length_attention", {"h": (1,), "d_k": (1,)}),
        ("moe_router", {"experts": (1,)}),
        ("cross_entropy", {"vocab": (1,), "reduction": ("none",)}),
    ],
)
def test_a_stated_domain_is_named_beside_the_claim(operation: str, domain: dict[str, Any], tmp_path: Path) -> None:
    within = Refusing(operation, lambda arrays, keywords, calls: False, domain)
    records = compare(within, operation, effort="smoke")
    result, texts = show(tmp_path, records)
    assert result.tone == "good", records
    assert "1 operation conforms within a stated domain" in texts["badge"]
    assert "conforms within a stated domain" in texts["page"]
    assert "conforms within a stated domain" in texts["summary"]
    assert "Tried only within this domain" in texts["summary"]
    assert len(spec_tests.check(within, f"{operation}.reference", effort="smoke")) == len(DTYPES)


def test_a_domain_of_which_nothing_is_drawn_is_no_claim(tmp_path: Path) -> None:
    records = [judged(verdict(drawn=43, answered=1, examples=1, refused=42, refusals=[["domain", "no", 42]]))]
    result, texts = show(tmp_path, records)
    assert result.tone == "open"
    assert result.sentence == "relu answered 1 of 43 examples"
    assert "answered 1 of 43" in texts["terminal"]
    records = [judged(verdict(drawn=43, answered=22, examples=22, refused=21, refusals=[["domain", "no", 21]]))]
    assert show(tmp_path / "most", records)[0].tone == "good"


@pytest.mark.rotating
def test_a_combination_that_is_refused_throughout_is_a_named_variant(tmp_path: Path) -> None:
    def refuses(arrays: tuple[Any, ...], keywords: dict[str, Any], calls: int) -> bool:
        return keywords.get("mask") is not None and keywords["is_causal"]

    operation = "scaled_dot_product_attention"
    records = compare(Refusing(operation, refuses), operation, effort="thorough", dtype="float32")
    (record,) = records
    assert record.unexplained == 0
    assert record.variants.refused == ("is_causal = True with mask",)
    assert {"mask", "bias", "scale", "is_causal = True"} <= set(record.variants.answered)
    result, texts = show(tmp_path, records)
    assert result.tone == "good"
    assert "1 operation conforms, " in result.sentence
    assert "is_causal = True with mask" in texts["terminal"]


def test_an_argument_that_the_signature_lacks_is_a_named_variant(tmp_path: Path) -> None:
    def rope_of_one_kind(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return np.asarray(RIGHT.rope(x, positions))

    backend = SimpleNamespace(framework="numpy", name="mine", dtypes=("float32",), rope=rope_of_one_kind)
    (record,) = records = compare(backend, "rope", effort="smoke")
    assert record.variants.answered == ("required arguments alone",)
    assert record.variants.refused == OPTIONS["rope"]
    result, _ = show(tmp_path, records)
    assert result.tone == "good"
    assert result.sentence == f"1 operation conforms, 1 of {1 + len(OPTIONS['rope'])} variants"


def test_the_records_count_what_was_drawn() -> None:
    backend = Refusing("rms_norm", lambda arrays, keywords, calls: arrays[0].shape[-1] > 8)
    for record in compare(backend, "rms_norm"):
        assert record.drawn == record.answered + record.refused
        assert record.refusals == (("backend", "not today", record.refused),)
        assert record.unexplained == record.refused > 0
        assert re.match(r"refuses d > [4-8]\b", record.region[0])  # 8 may not have been drawn
        assert re.fullmatch(r'domain = \{"rms_norm": \{"d": range\(1, [5-9]\)\}\}', record.region[1])
        refused = [name for name in record.variants.classes_refused if name.startswith("d ")]
        assert refused
        assert all(int(name.split()[1]) >= 8 for name in refused)
        assert "d 4 to 7" in record.variants.classes_answered


def test_refused_positions_are_named() -> None:
    def refuses(arrays: tuple[Any, ...], keywords: dict[str, Any], calls: int) -> bool:
        return not np.array_equal(np.broadcast_to(np.arange(arrays[1].shape[-1]), arrays[1].shape), arrays[1])

    (record,) = compare(Refusing("rope", refuses), "rope", dtype="float32", effort="thorough")
    assert record.region == ("refuses all positions but consecutive ones", 'domain = {"rope": {"positions": "consecutive"}}')


def test_the_advised_domain_makes_the_operation_conform(tmp_path: Path) -> None:
    def refuses(arrays: tuple[Any, ...], keywords: dict[str, Any], calls: int) -> bool:
        return arrays[0].shape[-1] > 8

    with pytest.raises(spec_tests.DoesNotConform, match=r"refuses d > [4-8]\b"):
        spec_tests.check(Refusing("rms_norm", refuses), "rms_norm")
    records = compare(Refusing("rms_norm", refuses, {"d": range(1, 9)}), "rms_norm")
    assert show(tmp_path, records)[0].sentence == "1 operation conforms within a stated domain"


# --- whole runs -------------------------------------------------------------------------------------------------------

NARROW = (
    NUMPY
    + SOFTMAX
    + RMS_NORM.replace("    h =", "    if x.shape[-1] > 8:\n        raise NotImplementedError('too wide')\n    h =")
)


REQUIRED = ("--backend=mine.py", "--hypothesis-seed=1", "-k", "rms_norm.reference or softmax.reference")


def test_a_run_says_how_little_was_answered(tmp_path: Path) -> None:
    write(tmp_path, mine=NARROW)
    run = suite(tmp_path, *REQUIRED, "--require=softmax")
    (record,) = [fact for fact in run.facts if fact["id"] == "rms_norm.reference"]
    assert run.code == 0, run.text
    assert f"rms_norm  answered {record['answered']} of {record['drawn']}" in run.text
    assert "answered too little to conform:" in run.text
    assert '    add: domain = {"rms_norm": {"d": range(1, ' in run.text
    assert "1 operation answered too little and does not conform (fails only with --require)" in run.text


def test_a_required_operation_must_answer_enough(tmp_path: Path) -> None:
    write(tmp_path, mine=NARROW)
    run = suite(tmp_path, *REQUIRED, "--require=rms_norm,softmax")
    assert run.code == 1, run.text
    assert {fact["id"]: fact["status"] for fact in run.facts} == {"rms_norm.reference": "failed", "softmax.reference": "passed"}
    assert "required, but rms_norm answered" in run.text


def test_parametrize_fails_where_too_little_is_answered(tmp_path: Path) -> None:
    tests = [
        f"@spec_tests.parametrize('mine.py', 'rms_norm', effort='smoke'{more})\ndef {name}(check):\n    check()\n"
        for name, more in (("test_it", ""), ("test_any", ", coverage='any'"))
    ]
    write(tmp_path, mine=NARROW, test_mine="\n\n".join(["import spec_tests", *tests]))
    run = pytest_run(tmp_path, "-q", "-p", "no:cacheprovider", "-k", "reference or odd")
    assert run.code == 1, run.text
    failed = [name.partition("::")[2] for name, tag in run.nodes.items() if tag == "failure"]
    assert failed == ["test_it[rms_norm.reference[float32]]"]
    assert len(run.nodes) == 4
    assert ' (coverage="any" accepts this)' in run.text.replace("\n", " "), run.text
