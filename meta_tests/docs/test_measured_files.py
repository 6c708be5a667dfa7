"""Test the table of docs/measured/README.md: it lists every file of the folder, and its commands, pages and tests exist."""

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..support.paths import MEASURED, ROOT

README = MEASURED / "README.md"


@dataclass(frozen=True)
class Row:
    file: str
    command: str
    time: str
    page: str
    test: str

    @property
    def stem(self) -> str:
        return Path(self.file).stem

    @property
    def module(self) -> str:
        return self.command.partition("python -m ")[2].split()[0].strip("`")


def rows() -> list[Row]:
    cells = [re.split(r" *\| *", line.strip("| \n")) for line in README.read_text().splitlines() if line.startswith("| `")]
    return [Row(file.strip("`"), *others) for file, *others in cells]


def sources(test: Path) -> str:
    """Return the text of a test, followed by that of the modules of meta_tests.measure and benchmarks that it imports."""
    text = test.read_text()
    imports = re.findall(r"^from (\.\.measure|benchmarks)(?:\.(\w+))? import (.+)$", text, re.MULTILINE)
    folders = {"..measure": ROOT / "meta_tests" / "measure", "benchmarks": ROOT / "benchmarks"}
    paths = [folders[package] / f"{name}.py" for package, module, line in imports for name in (module, *re.findall(r"\w+", line))]
    return "\n".join([text, *(path.read_text() for path in paths if path.exists())])


def test_the_table_lists_exactly_the_files_of_the_folder() -> None:
    files = [path.relative_to(MEASURED).as_posix() for path in MEASURED.rglob("*") if path.is_file() and path != README]
    assert sorted(row.file for row in rows()) == sorted(files)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.file)
def test_what_the_table_names_exists(row: Row) -> None:
    assert find_spec(row.module), f"there is no module {row.module}"
    assert row.time
    page = (MEASURED / re.findall(r"\]\((.+?)\)", row.page)[0]).resolve()
    folder = "../measured" if page.parent.name == "guides" else "measured"
    shown = f"{{literalinclude}} {folder}/{row.file}\n" if row.file.endswith(".txt") else row.stem
    assert shown in page.read_text(), f"{page.name} does not show {row.file}"
    if row.test != "none":
        assert row.stem in sources(ROOT / row.test.strip("`")), f"{row.test} does not read {row.file}"
