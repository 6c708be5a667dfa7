"""Test that docs/vectors.md does what it says: each command runs, in the order of the page, and prints what stands there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..support.paths import DOCS, ROOT

TOOLS = ("bash", "sha256sum", "tar", "cc", "node")
SPEC_TESTS = f"{sys.executable} -m spec_tests "


@pytest.mark.rotating
def test_the_commands_of_the_page_run_and_print_what_it_says(tmp_path: Path) -> None:
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        pytest.skip(f"{missing[0]} is not installed")
    page = (DOCS / "vectors.md").read_text()
    (tmp_path / "domain.json").write_text(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = [line[4:] for line in page.splitlines() if line.startswith("    ")]
    assert len(lines) >= 10
    folder = tmp_path
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.endswith("every file has its hash."):
            continue
        command, is_shown = line.removeprefix("$ "), line.startswith("$ ")
        done = subprocess.run(
            ["bash", "-ec", command.replace("spec-tests ", SPEC_TESTS)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert not is_shown or done.stdout == f"{following}\n"
