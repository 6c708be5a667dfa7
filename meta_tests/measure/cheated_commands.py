"""Run each cheat of `meta_tests/support/cheats_of_commands.py`, and record what a reader sees.

`python -m meta_tests.measure.cheated_commands [NAME …]` writes docs/measured/cheated_commands.txt, with names the rows of these
alone; a test compares it with new runs.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from ..support.cheats_of_commands import CHEATS, LIMIT_SECONDS, Done
from ..support.kept_rows import KeptRows
from ..support.paths import MEASURED

TABLE = MEASURED / "cheated_commands.txt"


def name_command(done: Done) -> str:
    """Return the command as a reader writes it, without its options."""
    module, *words = done.args[2:]
    if module == "spec_tests":
        return f"spec-tests {words[0]}"
    return "pytest --resume" if "--resume" in words else module.replace("spec_tests.report", "python -m spec_tests.report")


def describe(done: Done) -> str:
    """Return the command, its exit status, and the line that says the result or the reason."""
    if done.returncode == 124:
        return f"{name_command(done)}: does not end within {LIMIT_SECONDS} s"
    text = f"{done.stdout}\n{done.stderr}"
    errors = re.findall(r"^ERROR: (.*)$", text, re.MULTILINE)
    failed = re.findall(r"^(?:cause 1|next|\S+ (?:breaks|conforms|fails)).*$", text, re.MULTILINE)
    said = errors[-1:] or (done.stdout.splitlines()[:1] if "score" in done.args else failed[:1])
    traceback = "; a traceback" if "Traceback (most" in text else ""
    return f"{name_command(done)}: exit {done.returncode}; {_drop_local_details(''.join(said)) or 'nothing is said'}{traceback}"


def _drop_local_details(text: str) -> str:
    return re.sub(r"/\S*/", "", re.sub(r" +", " ", text))


def format_block(name: str) -> str:
    cheat = CHEATS[name]
    with tempfile.TemporaryDirectory() as folder:
        return f"{name}: {cheat.__doc__}\n  {describe(cheat(Path(folder)))}"


def read_blocks() -> dict[str, str]:
    """Return the blocks of the committed table by the names of the cheats."""
    text = TABLE.read_text().strip() if TABLE.exists() else ""
    return {block.partition(":")[0]: block for block in text.split("\n\n") if block}


def main() -> None:
    before, kept = read_blocks() if sys.argv[1:] else {}, KeptRows("cheated_commands")
    for name in sys.argv[1:] or CHEATS:
        if name not in kept.rows:
            kept.add(name, format_block(name))
        before[name] = str(kept.rows[name])
    TABLE.write_text("\n\n".join(before[name] for name in CHEATS if name in before) + "\n")


if __name__ == "__main__":
    main()
