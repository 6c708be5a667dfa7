"""Test that reports of strangers are text on every page that is made of them, in each field that may hold any text."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from spec_tests.publishing.changes_page import render_changes
from spec_tests.publishing.collection import Collection, Refused
from spec_tests.publishing.publication import build_files
from spec_tests.publishing.table import build_table
from spec_tests.report.form import Form, list_members
from spec_tests.report.records import LINES, PYTHON
from spec_tests.report.signature import Signer

from ..support.browser import open_page, start_browser
from ..support.handmade_reports import BACKEND, FOOTER, HEADER, failed, verdict
from ..support.hostile_text import HOSTILE, Elements, check_text_only
from ..support.signed_reports import build_signed

pytest.importorskip("jinja2")
KEPT = ("dtype", "dtypes")  # a verdict in no known dtype is in no table: one in a text as its dtype is added


def fill(value: Any, form: Form, text: str) -> Any:
    """Return a value with the text in the place of each text that may be any."""
    if form.is_union:
        return value if value is None else fill(value, next(each for each in form.inner_forms if fits(value, each)), text)
    if form.is_dataclass:
        return fill_record(value, form.kind, text)
    if form.kind is str and not form.pattern and not form.values:
        return text
    if isinstance(value, list | tuple):
        forms = form.inner_forms if form.inner and form.inner[-1] is not Ellipsis else form.inner_forms[:1] * len(value)
        return [fill(each, other, text) for each, other in zip(value, forms, strict=True)]
    if isinstance(value, Mapping):
        return dict.fromkeys([text], fill(next(iter(value.values())), form.inner_forms[1], text)) if value else {}
    return text if form.kind is Any and isinstance(value, str) else value


def fits(value: Any, form: Form) -> bool:
    if form.is_dataclass:
        return isinstance(value, Mapping) and {member.name for member in list_members(form.kind)} >= {*value}
    return isinstance(value, PYTHON.get(form.kind, (form.kind,)))


def fill_record(record: Mapping[str, Any], cls: type, text: str) -> dict[str, Any]:
    members = {member.name: member for member in list_members(cls)}
    return {
        name: fill(value, members[name].form, text) if name in members and name not in KEPT else value
        for name, value in record.items()
    }


def build_records(text: str) -> Iterator[dict[str, Any]]:
    """Yield verdicts and an error of every kind, with the text in each field that may hold it."""
    shown = [["label", "fact"]]
    broken = failed("relu.reference", explained={"a": "a", "b": "b"}, facts=shown, first="a", explains="a")
    hardest = {"share": 0.5, "arguments": {"x": "a"}, "at": "a", "expected": 1.0, "got": "NaN", "bound": "Infinity"}
    full = {
        "hardest": hardest, "domain": "a", "beyond": "a", "names": "a", "stale": "a", "refusals": [["backend", "a", 1]],
        "region": ["a", "a"], "conventions": {"stated": {"a": "a"}, "answers": {"a": {"a": 1}}},
        "variants": {"answered": ["a"], "refused": ["a"], "classes answered": ["a"], "classes refused": ["a"]},
        "results": {"a": {"class": "a", "worst": 0.5, "median": 0.1}},
    }  # fmt: skip
    skipped = verdict("gelu.reference", status="skipped", reason="a", worst=None, median=None, cut="a")
    for record in (broken, {**verdict("silu.reference"), **full}, skipped):
        yield {**fill_record(record, LINES["verdict"], text), "node": f"{record['id']}{text}"}
    yield {**fill_record({**broken, "failure": {"message": "a"}}, LINES["verdict"], text), "id": "tanh.reference"}
    for dtype in ("float16", text):
        yield {**fill_record(broken, LINES["verdict"], text), "dtype": dtype, "node": dtype}
    yield fill_record({"record": "error", "node": "a", "when": "a", "message": "a"}, LINES["error"], text)


def build_pages(text: str) -> dict[str, str]:
    """Return the pages that show the text wherever a report, a signer or a path has text of others."""
    header = {**HEADER, "selection": {"keyword": "a"}, "commit": "a", "known": {"failing": "a"}, "precision": "a", "seed": "a"}
    header |= {"required": ["a"], "required_levels": ["a"], "isolate": True}
    backend = {**BACKEND, "device_facts": ["a"], "confinement": "a", "conventions": {"a": "a"}, "domain": {"a": "a"}}
    more: dict[str, Any] = {
        "backend": fill_record(backend, LINES["backend"], text),
        "footer": fill_record(
            {**FOOTER, "cuts": {"a": {"by": "a", "at": "a", "judged": 1, "selected": 2}}}, LINES["footer"], text
        ),
    }
    signer = Signer(text, text, text)
    hostile = build_signed(*build_records(text), signer=signer, **fill_record(header, LINES["header"], text), **more)
    other = build_signed(verdict(backend=text), **{**header, "suite": text, "effort": "smoke"}, **more)
    table = build_table(Collection((hostile, other), (Refused(Path("folder") / text.replace("/", "|"), text),)), b"")
    return {
        "published": build_files(hostile, b"")["index.html"].decode(),
        "table": table["index.html"].decode(),
        "changes": render_changes(other.report, hostile.report),
        "badge": build_files(hostile, b"")["badge.svg"].decode(),
    }


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_strangers_write_is_text(kind: str) -> None:
    plain, pages = build_pages("plain"), build_pages(HOSTILE[kind])
    for name, page in pages.items():
        check_text_only(page, plain[name])
        for tag, attributes in Elements(page).found:
            assert "src" not in attributes, (name, tag)
            link = str(attributes.get("href") or "#")
            assert link.startswith(("#", "data:,", "reports/", "changes/", "report.jsonl", "allowed_signers")), link


def test_the_text_reaches_each_page() -> None:
    """Else the test above shows nothing. A page that shows a field more shows the text more often."""
    shown = {name: page.count("q1z") for name, page in build_pages("q1z").items()}
    assert shown["published"] > 80
    assert shown["table"] > 30
    assert shown["changes"] > 10
    assert shown["badge"] == 0  # which has numbers and words of ours alone
    assert "q1z" in build_files(build_signed(verdict(), dtypes=["q1z"]), b"")["badge.svg"].decode()


def test_files_lie_in_the_folder_whatever_a_report_says() -> None:
    """The name of a folder is made of few characters, and ends with the hash of the report."""
    for text in (*HOSTILE.values(), "../../etc", "/etc", ".", "-o", "a\\b", "a/b", "\n", "é"):
        backend = {"name": text, "version": text}
        names = [name for name in build_table(Collection((build_signed(verdict(), backend=backend),), ()), b"") if "/" in name]
        assert names
        for name in names:
            folder, inner, _ = name.split("/")
            assert folder == "reports"
            assert len(inner) < 130
            assert not set(inner) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")
            assert not inner.startswith(".")


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with start_browser() as started:
        yield started


@pytest.mark.rotating
def test_a_browser_runs_nothing_of_strangers(browser: Any, tmp_path: Path) -> None:
    for kind, text in HOSTILE.items():
        for name, page in build_pages(text).items():
            (file := tmp_path / f"{kind}-{name}.{'svg' if name == 'badge' else 'html'}").write_text(page, encoding="utf-8")
            for width, scheme in ((1280, "light"), (390, "dark")):
                with open_page(browser, file, width, scheme) as (tab, errors):
                    assert tab.evaluate("window.hacked") is None, (kind, name)
                    assert name == "badge" or tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
                        kind,
                        name,
                        width,
                    )
                assert errors == [], (kind, name)


def test_the_heads_and_the_first_column_stay(browser: Any, tmp_path: Path) -> None:
    """The table is scrolled in its own box, and each mark is readable at both widths and in both themes."""
    names = [f"operation_with_a_long_name_{number}" for number in range(60)]
    reports = [
        build_signed(*(verdict(f"{name}.reference", backend=f"library-{i}") for name in names), backend={"name": f"library-{i}"})
        for i in range(12)
    ]
    (file := tmp_path / "index.html").write_bytes(build_table(Collection(tuple(reports), ()), b"")["index.html"])
    for width, scheme in ((1280, "light"), (390, "dark")):
        with open_page(browser, file, width, scheme) as (tab, errors):
            place = (
                "(place => { const box = document.querySelector(place).getBoundingClientRect(); return [box.left, box.top]; })"
            )
            corner, row, head = "thead th", "tbody tr:nth-child(2) th", "thead th:nth-child(3)"
            before = [tab.evaluate(f"{place}('{each}')") for each in (corner, row, head)]
            tab.evaluate("document.querySelector('.tall').scrollTo(300, 400)")
            after = [tab.evaluate(f"{place}('{each}')") for each in (corner, row, head)]
            assert after[0] == before[0]
            assert after[1][0] == before[1][0]
            assert after[1][1] < before[1][1]
            assert after[2][1] == before[2][1]
            assert after[2][0] < before[2][0]
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            first = tab.evaluate("document.querySelector('tbody tr:nth-child(2) th').getBoundingClientRect().width")
            assert first < 0.5 * width
            assert errors == []
