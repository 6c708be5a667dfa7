"""Test that the documentation builds without a warning, that its links work, and that a browser shows every page."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from ..support.browser import open_page, start_browser
from ..support.paths import ROOT
from ..support.sphinx_extensions import import_extension

pytestmark = pytest.mark.xdist_group("docs/site")  # one worker waits until the site is built


class LinksAndIds(HTMLParser):
    """The links and the ids of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.ids.add(attributes.get("id") or "")
        self.links += [link for name in ("href", "src") if (link := attributes.get(name))]


def list_pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def find_broken_links(site: Path) -> Iterator[str]:
    pages = {path: LinksAndIds(path) for path in list_pages(site)}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "data", "mailto"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists() or (parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids):
                yield f"{path.relative_to(site)}: {link}"


def test_mathematics_becomes_mathml(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    nodes, mathematics = pytest.importorskip("docutils.nodes"), import_extension("mathematics")
    written = mathematics.convert(nodes.math("", r"u\lvert z\rvert"), block=False)
    bars = '<mo form="prefix" stretchy="false">|</mo><mi>z</mi><mo form="postfix" stretchy="false">|</mo>'
    assert written == f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>u</mi>{bars}</math>'
    warned: list[object] = []
    monkeypatch.setattr(mathematics.LOG, "warning", lambda *arguments, **_: warned.extend(arguments))
    assert mathematics.convert(nodes.math("", r"\nonsense"), block=False) == ""
    assert "Unknown LaTeX command" in str(warned)


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    assert len(list_pages(site)) > 50
    assert list(find_broken_links(site)) == []


def test_every_page_says_version_licence_and_citation(site: Path) -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    title, version, licence = (
        re.findall(rf"^{name}: \"?(.+?)\"?$", citation, re.MULTILINE)[0] for name in ("title", "version", "license")
    )
    for path in list_pages(site):
        footer = path.read_text().partition('<p class="project-details">')[2].partition("</p>")[0]
        for part in (f"spec_tests {version}", f'LICENSE">{licence}</a>', f"<cite>{title}</cite>", "CITATION.cff"):
            assert part in footer, path


INSPECT_PAGE = """() => {
    const flat = e => { const box = e.getBoundingClientRect(); return !(box.width && box.height) };
    const ink = e => getComputedStyle(e).color;
    return {
        unseen: [...document.querySelectorAll('math, figure.picture svg')].filter(flat).map(e => e.outerHTML.slice(0, 200)),
        raw: [...document.querySelectorAll('.math, math')].map(e => e.textContent).filter(t => /\\\\[a-z]|\\$/.test(t)),
        silent: [...document.querySelectorAll('figure.picture svg')].filter(e => !e.getAttribute('aria-label')).length,
        foreign: [...document.querySelectorAll('math, figure.picture svg')].filter(e => ink(e) != ink(e.parentElement)).length,
        wide: document.documentElement.scrollWidth > innerWidth,
        cut: [...document.querySelectorAll('td, th')].filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
            .map(e => e.textContent.slice(0, 80)),
        stuck: [...document.querySelectorAll('article table')].filter(e => e.scrollWidth > e.parentElement.clientWidth + 1)
            .filter(e => !/auto|scroll/.test(getComputedStyle(e.parentElement).overflowX)).map(e => e.textContent.slice(0, 80)),
        markdown: [...document.querySelectorAll('pre')].map(e => e.textContent).filter(t => /^\\|[-:| ]+\\|$/m.test(t)),
    };
}"""
SDPA = "scaled_dot_product_attention.html"
NO_PROBLEM = {"unseen": [], "raw": [], "silent": 0, "foreign": 0, "wide": False, "cut": [], "stuck": [], "markdown": []}


@pytest.mark.rotating
@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_a_browser_shows_every_page_of_the_site(width: int, scheme: str, site: Path) -> None:
    """The console is empty, nothing comes from a network, and mathematics and pictures are drawn in the page's colour."""
    first, *others = list_pages(site)
    with start_browser() as browser, open_page(browser, first, width, scheme) as (tab, messages):
        for path in (first, *others):
            tab.goto(path.as_uri())
            assert tab.locator("h1").count() or tab.title(), path
            assert tab.evaluate("performance.getEntriesByType('resource').every(e => e.name.startsWith('file:'))"), path
            assert tab.evaluate(INSPECT_PAGE) == NO_PROBLEM, path
            assert messages == [], path


def test_names_break_at_underscores_and_tables_are_no_dumps(site: Path) -> None:
    laws = (site / "operations" / "rope.html").read_text()
    assert "scale_<wbr>follows_<wbr>the_<wbr>width_<wbr>of_<wbr>queries" in (site / "operations" / SDPA).read_text()
    assert not re.search(r"<wbr>[^<]*</h[1-6]>", laws)
    for name in ("benchmarks", "deviations"):
        page = (site / f"{name}.html").read_text()
        blocks = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
        assert max(block.count("\n") for block in blocks) < 4, "commands alone are blocks"
        assert page.count('<table class="measured') > 0


def test_an_operation_s_page_has_equation_bound_proofs_and_pictures(site: Path) -> None:
    text = (site / "operations" / "rms_norm.html").read_text().partition('<article role="main"')[2]
    titles = (
        "Who conforms",
        "The most common bug",
        "What must hold",
        "How far off it may be",
        "Why the laws hold",
        "What goes wrong",
    )
    parts = [text.index(part) for part in ("<math", *titles)]
    assert parts == sorted(parts)
    assert text.count('<figure class="picture">') == 2
    for name, least in (("rms_norm", 10), ("every_operation", 20), ("every_gradient", 10)):
        text = (site / "operations" / f"{name}.html").read_text()
        claims = re.findall("<em>(exact|within the derived bound|statistical|finite)</em>", text)
        assert text.count("<em>Why.</em>") == len(claims) > least


@pytest.mark.rotating
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_top_of_an_operation_s_page_is_short_and_links_unfold_the_rest(width: int, scheme: str, site: Path) -> None:
    page = site / "operations" / "rms_norm.html"
    with start_browser() as browser, open_page(browser, page, width, scheme) as (tab, messages):
        assert tab.evaluate("document.querySelectorAll('details.folded[open]').length") == 0
        folded = tab.evaluate("document.documentElement.scrollHeight")
        bug = tab.locator("#rms-norm-eps-outside-sqrt")
        assert not bug.locator("pre").first.is_visible()
        tab.locator("#the-most-common-bug a", has_text="eps-outside-sqrt").click()
        bug.locator("pre").first.wait_for(state="visible")
        assert tab.evaluate("document.querySelectorAll('details.folded[open]').length") == 2
        top = "document.getElementById('rms-norm-eps-outside-sqrt').getBoundingClientRect().top"
        tab.wait_for_function(f"0 <= {top} && {top} < 400")  # scrolling is smooth
        tab.evaluate("for (const part of document.querySelectorAll('details.folded')) part.open = true")
        assert tab.evaluate("document.documentElement.scrollHeight") > 3 * folded
        assert messages == []


def test_a_block_that_is_cut_says_so_until_it_is_scrolled(site: Path) -> None:
    """On the front page at 1280 pixels no block is cut."""
    frame = "document.querySelector('#test-your-own-kernel .highlight.cut')"
    with start_browser() as browser:
        with open_page(browser, site / "index.html", 1280, "light") as (tab, _):
            assert tab.locator(".highlight").count() > 3
            assert tab.locator(".highlight.cut").count() == 0
        with open_page(browser, site / "index.html", 390, "dark") as (tab, _):
            tab.wait_for_function(frame)
            assert tab.evaluate(f"getComputedStyle({frame}, '::after').content") == '"…"'
            cut = tab.locator(".highlight.cut").count()
            tab.evaluate(f"(pre => {{ pre.scrollLeft = pre.scrollWidth }})({frame}.querySelector('pre'))")
            tab.wait_for_function(f"document.querySelectorAll('.highlight.cut').length == {cut - 1}")


class Prose(HTMLParser):
    """The prose of a page: the text of its article without headings, code and links other than those to the glossary."""

    SKIPPED = (
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "code",
        "svg",
        "math",
        "summary",
        "script",
        "style",
        "figure",
        "button",
        "small",
    )

    def __init__(self, path: Path):
        super().__init__()
        self.text, self.open, self.is_article = "", list[str](), False
        self.terms, self.starts = list[str](), set[int]()  # of the links to the glossary
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        link = dict(attrs).get("href") or ""
        self.is_article |= tag == "article"
        if tag == "a" and (found := re.search(r"glossary\.html#term-([\w-]+)$", link)):
            self.terms.append(found[1].replace("-", " "))
            self.starts.add(len(self.text))
            self.open.append("glossary")
        elif tag == "a" or tag in self.SKIPPED:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.is_article &= tag != "article"
        if self.open and self.open[-1] in (tag, "glossary" if tag == "a" else tag):
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.is_article and set(self.open) <= {"glossary"}:
            self.text += data


@pytest.mark.rotating
def test_the_first_use_of_a_term_links_to_the_glossary(site: Path) -> None:
    linked, unlinked, counts = import_extension("glossary_links").LINKED, list[str](), dict[str, int]()
    for path in list_pages(site):
        if path.name in ("glossary.html", "genindex.html", "search.html"):
            continue
        page = Prose(path)
        assert len(page.terms) == len(set(page.terms)), f"{path.name} links a term twice"
        for term, pattern in linked.items():
            first = pattern.search(page.text)
            if first is None:
                continue
            counts[term] = counts.get(term, 0) + 1
            if first.start() not in page.starts:
                unlinked.append(f"{path.relative_to(site)}: {term}: …{page.text[first.start() - 30 : first.end() + 20]!r}")
    assert unlinked == []
    assert counts["law"] > 50
