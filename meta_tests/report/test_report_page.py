"""Tests of the page: it needs no other file, shows the failures first, and never shows text of others as markup."""

import base64
import hashlib
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from spec_tests.report.backend_results import build_results, find_differences
from spec_tests.report.github_step import format_step_summary

from ..support.browser import open_page, start_browser
from ..support.handmade_reports import BACKEND, failed, report, verdict
from ..support.hostile_text import HOSTILE, Elements, check_text_only

pytest.importorskip("jinja2")
from spec_tests.report.page import render_page

EPS = {"rms_norm/eps-outside-sqrt": "epsilon stands outside the square root: x / (sqrt(mean(x²)) + eps) or (x / rms) or so"}
EITHER = {**EPS, "rms_norm/mean-absolute-value": "x is divided by its mean absolute value"}


def render_with(folder: Path, text: str) -> str:
    """Return a page that shows the text wherever a report has text from elsewhere."""
    diagnosis = [{"id": text, "what": text}]
    broken = failed(
        "relu.reference", said=text, what=text, inputs=text, facts=[[text, text]], script=text, again=text, diagnosis=diagnosis
    )
    hardest = {"share": 0.5, "arguments": {text: text}, "at": text, "expected": 1.0, "got": "NaN", "bound": "Infinity"}
    records = (
        {**BACKEND, "version": text, "device": text, "file": text, "conventions": {text: text}},
        {**broken, "statement": text, "source": text, "hardest": hardest},
        verdict("silu.reference", status="skipped", reason=text, worst=None, median=None),
        verdict("gelu.reference", domain=text),
        {**verdict("softmax.reference"), "status": "failed", "reason": "", "failure": {"message": text}},
        {"record": "error", "node": text, "when": "teardown", "message": text},
    )  # fmt: skip
    header = {"command": ["pytest", text], "selection": {"keyword": text}, "platform": text}
    renamed = [{**record, "backend": text} if record["record"] == "verdict" else record for record in records]
    return render_page(build_results([report(folder / "a", *records, **header), report(folder / "b", *renamed, **header)]))


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_comes_from_elsewhere_is_text(kind: str, tmp_path: Path) -> None:
    text = render_with(tmp_path, HOSTILE[kind])
    check_text_only(text, render_with(tmp_path / "plain", "plain"))
    assert len(text) < 500_000


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    text = render_page(build_results([report(tmp_path, failed())]))
    elements = Elements(text)
    for _, attributes in elements.found:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith(("#", "data:"))
    assert not re.search(r"url\(|@import|https?://", text)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    policy = next(str(meta["content"]) for meta in elements.find("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert "default-src 'none'" in policy


def test_every_link_leads_somewhere_and_every_heading_follows(tmp_path: Path) -> None:
    both = [report(tmp_path / "a", failed(), verdict("silu.reference")), report(tmp_path / "b", verdict(), verdict("silu.zero"))]
    for reports in (both[:1], both):
        elements = Elements(render_page(build_results(reports)))
        ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
        assert len(set(ids)) == len(ids)
        links = {str(a["href"])[1:] for a in elements.find("a")}
        assert links <= set(ids)
        assert {"main", "failures", "precision", "op-relu", "runs"} <= links
        levels = [int(tag[1]) for tag, _ in elements.found if re.fullmatch("h[1-6]", tag)]
        assert levels.count(1) == levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        for tag, attributes in elements.found:
            if attributes.get("role") == "region" or tag == "nav":
                assert attributes.get("aria-label")


# --- what it says -----------------------------------------------------------------------------------------------------


def test_a_bug_is_told_once(tmp_path: Path) -> None:
    """An ambiguous failure joins the bug that a clear failure shows, whatever words its explanations have."""
    broken = [
        failed("rms_norm.scale", explained=EITHER),
        failed("rms_norm.reference", explained=EPS),
        failed("rms_norm.unit_scale", explained=EPS),
        failed(),
    ]
    (result,) = build_results([report(tmp_path, *broken)])
    first, second = result.bugs
    assert (first.operation, len(first.candidates), sorted(first.laws)) == ("rms_norm", 1, ["reference", "scale", "unit_scale"])
    assert (second.operation, second.candidates) == ("relu", ())
    text = " ".join(" ".join(Elements(render_page([result])).words).split())
    assert "2 things to look at" in text
    assert "2 other failures" in text
    assert text.index("epsilon stands outside the square root") < text.index("Precision reached")


@pytest.mark.parametrize(
    ("records", "options", "tone", "sentence"),
    [
        ([verdict()], {}, "good", "1 operation conforms"),
        ([verdict(), verdict("silu.reference")], {"dtypes": ["float32"]}, "good", "2 operations conform in float32"),
        ([verdict(), verdict("silu.zero")], {}, "good", "1 operation conforms"),
        ([verdict("silu.zero")], {}, "open", "nothing was compared with the oracle"),
        ([verdict(), failed("silu.zero")], {}, "bad", "1 of 2 operations deviates"),
        ([verdict(), failed("relu.limits") | {"level": "limits"}], {}, "bad", "1 of 1 operations deviates"),
        ([verdict(), {"record": "error", "node": "", "when": "internal", "message": "m"}], {}, "bad", "the run had errors"),
        ([verdict()], {"effort": "smoke"}, "open", "smoke: nothing wrong found"),
        ([verdict()], {"selection": {"keyword": "relu"}}, "open", "the selected invariants hold"),
        ([verdict()], {"footer": None}, "open", "cut by an end without a footer after 1 law; until then nothing failed"),
        ([verdict(status="skipped", reason="mine does not implement relu")], {}, "open", "nothing was tried"),
    ],
)  # fmt: skip
def test_a_verdict_claims_no_more_than_was_tried(records: list, options: dict, tone: str, sentence: str, tmp_path: Path) -> None:
    (result,) = build_results([report(tmp_path, *records, **options)])
    assert (result.tone, result.sentence) == (tone, sentence)
    assert f"<em>{sentence}</em>" in render_page([result])


def test_the_command_keeps_its_quotation_marks(tmp_path: Path) -> None:
    words = ["pytest", "--backend=mine.py", "-k", "softmax. or rms_norm."]
    text = " ".join(Elements(render_page(build_results([report(tmp_path, verdict(), command=words)]))).words)
    assert "pytest --backend=mine.py -k 'softmax. or rms_norm.'" in text


def test_only_a_failure_that_is_mended_has_the_colour_of_a_repair(tmp_path: Path) -> None:
    before = report(tmp_path / "a", failed("relu.reference"), failed("silu.reference"))
    after = report(tmp_path / "b", verdict("relu.reference"))
    text = render_page(build_results([before, after]))
    colours = {change: colour for colour, change in re.findall(r'<td class="(\w*)">fails → (\w+)', text)}
    assert colours == {"holds": "was", "absent": ""}


def test_the_matrix_shows_class_and_shares(tmp_path: Path) -> None:
    verdicts = [verdict(worst=0.75, median=0.5), verdict("silu.reference", worst=0.001, median=0.0, **{"class": "eager"})]
    text = render_page(build_results([report(tmp_path, *verdicts)]))
    assert 'class="bar fused" aria-hidden="true"><i style="width:75.0%"></i><b style="left:50.0%"></b>' in text
    assert "&lt;0.01" in text


@pytest.mark.parametrize("effort", ["smoke", "default"])
def test_a_bug_in_one_dtype_leaves_untried_dtypes_open_at_smoke_and_the_legend_says_so(effort: str, tmp_path: Path) -> None:
    records = [failed("relu.odd", dtype="float64"), verdict("relu.reference", dtype="float32")]
    (result,) = build_results([report(tmp_path, *records, effort=effort)])
    assert (result.cell("relu", "float32").state == "little") is (effort == "smoke")
    text = " ".join(" ".join(Elements(render_page([result])).words).split())
    assert ("Open: a law that fails in another dtype was not tried in this one." in text) is (effort == "smoke")
    summary = format_step_summary([result])
    assert ("⚪ open |" in summary) is (effort == "smoke")
    assert ("*open*: a law that fails in another dtype was not tried in this one." in summary) is (effort == "smoke")


def test_two_reports_are_compared(tmp_path: Path) -> None:
    before = report(tmp_path / "before", verdict(), failed("silu.zero"), verdict("gelu.reference"), verdict("softmax.shift"))
    changed = verdict("gelu.reference", worst=0.9, **{"class": "eager"})
    after = report(tmp_path / "after", verdict(worst=0.9), verdict("silu.zero"), changed, failed("softmax.shift"))
    first, second = results = build_results([before, after])
    assert [(result.letter, result.label) for result in results] == [("A", "mine, before"), ("B", "mine, after")]
    assert find_differences(first, second) == [
        ("holds → fails", "softmax", {"shift": ["float32"]}),
        ("fails → holds", "silu", {"zero": ["float32"]}),
        ("holds (fused) → holds (eager)", "gelu", {"reference": ["float32"]}),
    ]
    assert find_differences(first, first) == []
    assert "holds (fused) → holds (eager)" in render_page(results)
    assert "Every verdict and every precision class is the same." in render_page(build_results([before, before]))


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with start_browser() as started:
        yield started


@pytest.mark.rotating
def test_a_browser_shows_it(browser: Any, tmp_path: Path) -> None:
    """The console shows no error, no foreign script runs, nothing is cut off, and the diagnosis is on the first screen."""
    texts = {kind: render_with(tmp_path / kind, text) for kind, text in HOSTILE.items()}
    texts["plain"] = render_page(
        build_results([report(tmp_path / "plain", failed("rms_norm.reference", explained=EPS), verdict())])
    )
    for kind, text in texts.items():
        (file := tmp_path / f"{kind}.html").write_text(text, encoding="utf-8")
        for width, scheme in ((1280, "light"), (390, "dark")):
            with open_page(browser, file, width, scheme) as (tab, errors):
                assert tab.evaluate("window.hacked") is None, kind
                assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (kind, width)
            assert errors == [], kind
    with open_page(browser, file, 1280, "light") as (tab, _):
        assert tab.evaluate("document.querySelector('.diagnosis').getBoundingClientRect().bottom < innerHeight / 2")


def test_the_theme_follows_the_system_and_the_button(browser: Any, tmp_path: Path) -> None:
    (file := tmp_path / "page.html").write_text(render_page(build_results([report(tmp_path, verdict())])), encoding="utf-8")
    colour = "getComputedStyle(document.body).backgroundColor"
    with open_page(browser, file, 1280, "light") as (tab, _):
        light = tab.evaluate(colour)
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.textContent") == "Skip to the verdict"
        tab.get_by_role("button", name="Dark theme").click()
        dark = tab.evaluate(colour)
        tab.goto(f"{file.as_uri()}#op-relu")
        tab.reload()
        assert tab.evaluate(colour) == dark != light
        assert tab.evaluate("document.getElementById('op-relu').open")
    with open_page(browser, file, 1280, "dark") as (tab, _):
        assert tab.evaluate(colour) == dark
