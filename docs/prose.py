"""Check the style of the Markdown files with proselint: python docs/prose.py

proselint does not know Markdown, so it gets the pages without code: blocks are left out, and words in backticks are replaced.
docs/proselint.json says which of its checks are used.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from string import ascii_lowercase

from vocabulary import CODE, PAGES, ROOT

CONFIG = ROOT / "docs" / "proselint.json"
LINK = re.compile(r"\]\([^)]*\)")
MATHEMATICS = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)


def leave_out_code(text: str) -> str:
    """Return the prose of a page, in the same lines. Paragraphs end with a full stop, since headings have none."""
    numbers = count()

    def replace(found: re.Match[str]) -> str:
        is_block = "\n" in found[0] or found[0].startswith("    ")
        return "\n" * found[0].count("\n") if is_block else f"{ascii_lowercase[next(numbers) % 26]}code"

    prose = MATHEMATICS.sub(replace, CODE.sub(replace, text))
    prose = re.sub(r"^## [a-z_0-9]+$", "", LINK.sub("]", prose), flags=re.MULTILINE)  # a heading that is an identifier
    prose = re.sub(r"(?<=\d) (?=\d)", "_", prose)  # in a number of many digits
    return re.sub(r"\n(?=\n)", "\n.", prose)


def complaints(root: Path = ROOT) -> list[str]:
    """Return what proselint says of the pages, each with the place."""
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder).resolve()
        for path in sorted({path for pattern in PAGES for path in root.glob(pattern)}):
            copy = copies / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(leave_out_code(path.read_text(encoding="utf-8")), encoding="utf-8")
        tool = shutil.which("proselint", path=str(Path(sys.executable).parent))
        if tool is None:
            return ["proselint is not installed: pip install -e '.[dev]' -c constraints.txt"]
        command = (tool, "check", "--config", str(CONFIG), str(copies))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = (done.stdout + done.stderr).replace(f"{copies}/", "").strip()
    return said.splitlines() if done.returncode else []


if __name__ == "__main__":
    found = complaints()
    print("\n".join(found))
    sys.exit(bool(found))
