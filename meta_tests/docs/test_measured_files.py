"""Test the table of docs/measured/README.md: it lists every file of the folder, and its commands, pages and tests exist."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..support.measured_files import TABLE, Row, read_table
from ..support.paths import MEASURED, ROOT
from ..support.provenance import RECORD


def sources(test: Path) -> str:
    """Return the text of a test, followed by that of the modules of meta_tests.measure and benchmarks that it imports."""
    text = test.read_text()
    imports = re.findall(r"^from (\.\.measure|benchmarks)(?:\.(\w+))? import (.+)$", text, re.MULTILINE)
    folders = {"..measure": ROOT / "meta_tests" / "measure", "benchmarks": ROOT / "benchmarks"}
    paths = [folders[package] / f"{name}.py" for package, module, line in imports for name in (module, *re.findall(r"\w+", line))]
    return "\n".join([text, *(path.read_text() for path in paths if path.exists())])


def test_the_table_lists_exactly_the_files_of_the_folder() -> None:
    files = [
        path.relative_to(MEASURED).as_posix() for path in MEASURED.rglob("*") if path.is_file() and path not in (TABLE, RECORD)
    ]
    assert sorted(read_table()) == sorted(files)


@pytest.mark.parametrize("row", read_table().values(), ids=lambda row: row.file)
def test_what_the_table_names_exists(row: Row) -> None:
    assert find_spec(row.module), f"there is no module {row.module}"
    assert row.time
    page = (MEASURED / re.findall(r"\]\((.+?)\)", row.page)[0]).resolve()
    folder = "../measured" if page.parent.name == "guides" else "measured"
    shown = rf"\{{(?:measured|literalinclude)\}} {folder}/{row.file}\n" if row.file.endswith(".txt") else row.stem
    assert re.search(shown, page.read_text()), f"{page.name} does not show {row.file}"
    if row.test != "none":
        assert row.stem in sources(ROOT / row.test.strip("`")), f"{row.test} does not read {row.file}"


def test_isolation_costs_at_most_half_as_much_again() -> None:
    table = (MEASURED / "isolation_cost.txt").read_text().partition("ratio\n")[2]
    ratios = [float(line.split()[-1]) for line in table.splitlines()]
    assert len(ratios) >= 3
    assert max(ratios) <= 1.5
