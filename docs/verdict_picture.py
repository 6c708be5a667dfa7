"""Draw a real verdict, that of the README's own example: python docs/verdict_picture.py

The README's first block of Python is saved, its command is run, and what the terminal shows becomes docs/_static/verdict.svg,
from the first failure to the end of the verdict, without the script that shows the bug. A test holds the committed picture to
such a run. The lines are so short that a phone, 390 pixels wide, shows type of 9 pixels.
"""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "_static" / "verdict.svg"

COLUMNS = 62  # characters of a line; longer ones are wrapped
ADVANCE, LEADING, MARGIN = 7.83, 18, 10  # pixels: from one character to the next, from one line to the next, at the edges
COLOURS = {
    "cause 1:": "#ff7b72",
    "matches": "#e3b341",
    " cause of ": "#ff7b72",
    "again:": "#7ee787",
    "next:": "#7ee787",
    "$ ": "#7ee787",
}
STYLE = (
    "rect{fill:#161b22;stroke:#444c56}"
    "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}"
)


def example() -> tuple[str, str]:
    """Return the README's first block of Python, and the command that tests it."""
    text = README.read_text(encoding="utf-8")
    block = text.partition("```python\n")[2].partition("```")[0]
    name = block.splitlines()[0].removeprefix("# ")
    command = re.search(rf"^    (pytest .*--backend={re.escape(name)}.*)$", text, re.MULTILINE)
    assert command, f"no command of the README tests {name}"
    return block, command[1]


def run(folder: Path) -> str:
    """Run the README's command on its example in an empty folder, and return what it prints."""
    block, command = example()
    (folder / block.splitlines()[0].removeprefix("# ")).write_text(block, encoding="utf-8")
    drawn = ("--hypothesis-profile=default", "--hypothesis-seed=1")  # with CI set, Hypothesis's profile ignores the seed
    plugin = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", *drawn, "--color=no")
    words = (sys.executable, "-m", "pytest", *plugin, *shlex.split(command)[1:])
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))}
    settings = plain | {"PYTHONPATH": str(ROOT), "COLUMNS": str(COLUMNS)}
    done = subprocess.run(words, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    return done.stdout.replace(str(folder.resolve()), "…").replace(str(folder), "…")


def shown(printed: str) -> list[tuple[str, str]]:
    """Return the lines of the picture, each with its colour: the command, and what it prints from the first failure on."""
    joined = re.sub(r"(?<=\w)\n  (?=\w+[.,]?\n  \()", " ", printed)  # the rest of a law's statement
    lines = joined.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("cause 1: "))
    end = next(i for i, line in enumerate(lines) if line.startswith("next: ")) + 1
    script = lines.index("to see it without this suite:")
    again = next(i for i, line in enumerate(lines) if line.startswith("again: "))
    kept = (re.sub(r"^=+ (.*) =+$", r"\1", line) for line in [*lines[start:script], *lines[again:end]])
    return [line for words in (f"$ {example()[1]}", "", *kept) for line in _wrap(words)]


def _wrap(line: str) -> list[tuple[str, str]]:
    """Return the lines of the picture that a line of the terminal needs, each with its colour."""
    colour = next((value for word, value in COLOURS.items() if word in line), "")
    return [(part, colour) for part in textwrap.wrap(line, COLUMNS, subsequent_indent="    ", break_on_hyphens=False) or [""]]


def picture(printed: str) -> str:
    """Return the picture of a run's output as SVG, with its text as the description."""
    lines = shown(printed)
    width, height = MARGIN * 2 + ADVANCE * COLUMNS, MARGIN * 2 + LEADING * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">',
        "<title>The verdict on an RMSNorm whose epsilon stands outside the square root</title>",
        f"<desc>{html.escape(chr(10).join(line for line, _ in lines), quote=False)}</desc>",
        f"<style>{STYLE}</style>",
        f'<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>',
    ]
    for number, (line, colour) in enumerate(lines, start=1):
        fill = f' style="fill:{colour}"' * bool(colour)
        if line:
            place = f'x="{MARGIN}" y="{MARGIN + LEADING * number - 5:g}"'
            parts.append(f'<text {place} xml:space="preserve"{fill}>{html.escape(line, quote=False)}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_text(picture(run(Path(folder))), encoding="utf-8")
