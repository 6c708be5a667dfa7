"""Draw which package imports which, and list the packages in ARCHITECTURE.md: python docs/packages.py

The floors come from the table of floors in pyproject.toml, the imports from the source (read by grimp, which import-linter
brings), and each sentence from the package's `__init__.py`. A test holds the committed picture and table to them.
"""

from __future__ import annotations

import ast
import html
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "_static" / "packages.svg"
PAGE = ROOT / "ARCHITECTURE.md"
START, END = "<!-- packages: written by docs/packages.py -->\n", "<!-- end of packages -->\n"

LAWS, FACADE, EQUATIONS = "test_*.py", "__init__.py", "reference_numpy"  # the boxes that are no package of spec_tests
COLUMNS = {  # where a box stands in its row, in widths of a box; arrows between rows must not cross a box
    FACADE: 2.4, "commands": 3.5, "plugin": 4.6,
    "publishing": 0.8, "servers": 1.9, "vectors": 3.0, "campaign": 4.1,
    "running": 4.6,
    LAWS: 1.2, "report": 3.5,
    "operations": 0.0, "helpers": 1.2, "trials": 2.4,
    "inputs": 1.2, "diagnosis": 3.5, "sharding": 4.6,
    "calls": 1.2, "deviations": 2.6, "tampering": 3.7, "processes": 4.8,
    "bounds": 1.2, "implementation": 3.0,
    "importers": 3.8,
    EQUATIONS: 0.6, "specification": 2.4,
}  # fmt: skip
WIDTH, HEIGHT, UNIT, STEP, MARGIN = 132, 30, 145, 74, 12  # pixels: of a box, of a column, of a row, at the edges

STYLE = (
    "text{font:13px sans-serif;text-anchor:middle;fill:#1f2328}"
    "rect{fill:none;stroke:#3b8fd4;stroke-width:1.5}"
    "path{fill:none;stroke:#868686;stroke-width:1.2;marker-end:url(#tip)}"
    "#tip path{fill:#868686;stroke:none;marker-end:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}}"
)


def floors() -> list[list[str]]:
    """Return the packages of each floor, as the contract in pyproject.toml has them, the highest floor first."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["id"]: contract for contract in table["tool"]["importlinter"]["contracts"]}
    return [[name.strip() for name in floor.split("|")] for floor in contracts["floors"]["layers"]]


def rows() -> list[list[str]]:
    """Return the boxes of each row of the picture: the floors, the laws, what users import, and the equations."""
    top, running, report, *middle, lowest = floors()
    return [[FACADE, *top], running, [LAWS, *report], *middle, [EQUATIONS, *lowest]]


def box(module: str) -> str:
    """Return the box of the picture that a module belongs to."""
    root, *inner = module.split(".")
    if root == EQUATIONS or not inner:
        return EQUATIONS if root == EQUATIONS else FACADE
    return LAWS if inner[0].startswith("test_") else "commands" if inner[0] == "__main__" else inner[0]


def imports() -> set[tuple[str, str]]:
    """Return the pairs of boxes of which the first imports the second."""
    graph = grimp.build_graph("spec_tests", EQUATIONS, cache_dir=None)
    found = {(box(one), box(other)) for one in graph.modules for other in graph.find_modules_directly_imported_by(one)}
    return {(one, other) for one, other in found if one != other}


def reachable(start: str, pairs: set[tuple[str, str]]) -> set[str]:
    """Return the boxes that `start` imports, directly or through others."""
    seen: set[str] = set()
    new = {start}
    while new:
        new = {other for one, other in pairs if one in new} - seen
        seen |= new
    return seen


def arrows(pairs: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs that do not follow from the others: those without a longer way between the same two boxes."""
    below = {one: reachable(one, pairs) for pair in pairs for one in pair}

    def follows(one: str, other: str) -> bool:
        return any(other in below[between] for start, between in pairs if start == one)

    return sorted(pair for pair in pairs if not follows(*pair))


def places() -> dict[str, tuple[float, float]]:
    """Return the left upper corner of each box, in pixels."""
    return {name: (MARGIN + UNIT * COLUMNS[name], MARGIN + STEP * y) for y, row in enumerate(rows()) for name in row}


def picture() -> str:
    """Return the picture as SVG: the same text each time, with every import in its description."""
    pairs, place = imports(), places()
    width = MARGIN * 2 + UNIT * max(COLUMNS.values()) + WIDTH
    height = MARGIN * 2 + STEP * (len(rows()) - 1) + HEIGHT
    by_name = {name: sorted(other for one, other in pairs if one == name) for name in sorted(place)}
    words = "; ".join(f"{name} imports {', '.join(others)}" for name, others in by_name.items() if others)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">',
        "<title>The packages of spec_tests and their imports</title>",
        f"<desc>{html.escape(words)}</desc>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 1 8 4 0 7z"/></marker></defs>',
    ]
    for one, other in arrows(pairs):
        (x, y), (to_x, to_y) = place[one], place[other]
        lines.append(f'<path d="M{x + WIDTH / 2:g} {y + HEIGHT:g} {to_x + WIDTH / 2:g} {to_y:g}"/>')
    for name, (x, y) in place.items():
        lines.append(f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>')
        lines.append(f'<text x="{x + WIDTH / 2:g}" y="{y + 20:g}">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def sentence(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def described() -> Iterator[tuple[str, str]]:
    """Yield each package of spec_tests, or plugin.py, with its sentence, the highest floor first."""
    for floor in floors():
        for name in floor:
            package = ROOT / "spec_tests" / name
            path = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
            yield str(path.relative_to(ROOT)).removesuffix("__init__.py"), sentence(path)


def table() -> str:
    """Return the packages and their sentences as a table in Markdown."""
    height = {name: floor for floor, names in enumerate(reversed(floors()), start=1) for name in names}
    lines = ["| floor | package | what it is |", "|---|---|---|"]
    for path, words in described():
        lines.append(f"| {height[Path(path).stem]} | `{path}` | {words} |")
    return "\n".join([*lines, ""])


def page(text: str) -> str:
    """Return ARCHITECTURE.md with the table in its place."""
    before, _, rest = text.partition(START)
    return before + START + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
