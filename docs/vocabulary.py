"""Check the prose for phrases that docs/vocabulary.txt bans: python docs/vocabulary.py

It reads the Markdown files, the help of the options and the docstrings of the laws, and prints each phrase with what to write.
Text in code (blocks, and words in backticks) is not prose.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
VOCABULARY = ROOT / "docs" / "vocabulary.txt"
PAGES = ("*.md", "docs/*.md", "docs/guides/*.md", "docs/findings/*.md", "docs/proofs/*.md", "docs/measured/*.md")
SOURCES = ("spec_tests/running/options.py", "spec_tests/test_*.py")
CODE = re.compile(r"^(`{3,}).*?^\1`*$|^ {4}.*?$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def banned(text: str) -> list[tuple[re.Pattern[str], str]]:
    """Return each phrase of the vocabulary file, and what to write."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    pairs = (line.rpartition(" -> ") for line in lines)
    return [(re.compile(phrase, re.IGNORECASE), advice) for phrase, _, advice in pairs]


def without_code(text: str) -> str:
    """Replace code in Markdown by as many blank lines."""
    return CODE.sub(lambda found: "\n" * found[0].count("\n"), text)


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each string of a module, such as a docstring or the help of an option."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def prose(root: Path) -> Iterator[tuple[str, int, str]]:
    """Yield file, line number and line of all prose."""
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            for number, line in enumerate(without_code(path.read_text(encoding="utf-8")).splitlines(), start=1):
                yield path.relative_to(root).as_posix(), number, line
    for pattern in SOURCES:
        for path in sorted(root.glob(pattern)):
            for number, text in strings(path.read_text(encoding="utf-8")):
                for offset, line in enumerate(text.splitlines()):
                    yield path.relative_to(root).as_posix(), number + offset, line


def complaints(root: Path = ROOT) -> list[str]:
    """Return a line for each banned phrase, with its place and what to write."""
    phrases = banned(VOCABULARY.read_text(encoding="utf-8"))
    return [
        f"{file}:{number}: {found[0]!r}: rather {advice}"
        for file, number, line in prose(root)
        for phrase, advice in phrases
        if (found := phrase.search(line))
    ]


if __name__ == "__main__":
    found = complaints()
    print("\n".join(found))
    sys.exit(bool(found))
