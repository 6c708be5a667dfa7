"""The page on scope counts what is tested, and names every facility that a system may lack."""

import re

import pytest

from spec_tests.specification.registry import gradients, operations

from ..support.paths import DOCS, ROOT

SCOPE = (DOCS / "scope.md").read_text(encoding="utf-8")
SUITE = ROOT / "spec_tests"
FACILITIES = (  # what the standard library has on some systems only, and files that one system has
    r"signal\.setitimer", r"\bpass_fds\b", r"\bstart_new_session\b", r"os\.killpg", r"\bselect\.select\b", r"os\.sysconf",
    r"import (?:resource|fcntl|termios|pwd|grp)\b", r"os\.(?:fork|getuid|geteuid|uname|getloadavg|sched_\w+)\b", r"\bprctl\b",
    r"/proc/[\w/]+", r"/sys/[\w/.]+",
)  # fmt: skip
ROWS = re.findall(r"^\| (`[^|]+) \(`([\w/.]+)`\) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", SCOPE, re.MULTILINE)


def test_the_numbers_of_operations_and_gradients() -> None:
    assert f"| operations | the {len(operations())} of" in SCOPE
    assert f"the vector-Jacobian products of {len(gradients())} of them" in SCOPE


def test_every_facility_that_a_system_may_lack_is_listed() -> None:
    used = {
        (found, path.relative_to(SUITE).as_posix())
        for path in SUITE.rglob("*.py")
        for pattern in FACILITIES
        for found in re.findall(pattern, path.read_text(encoding="utf-8"))
    }
    assert len(used) > 8
    listed = {file: " ".join(names for names, where, *_ in ROWS if where == file) for _, file in used}
    names = {(found.removeprefix("import ").removesuffix(".select"), file) for found, file in used}
    assert [(name, file) for name, file in names if name not in listed[file]] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_what_its_file_uses(row: tuple[str, ...]) -> None:
    names, file, _, missing, _ = row
    text = (SUITE / file).read_text(encoding="utf-8")
    assert [name for name in re.findall(r"`([^`]+)`", names) if name not in text] == []
    assert set(missing.split(", ")) <= {"macOS", "Windows"}
