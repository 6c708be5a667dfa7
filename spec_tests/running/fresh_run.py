"""Run pytest on the laws in a process of its own, without the configuration and the conftest files of a project there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

NOT_INHERITED = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")  # they could change what runs


def run_fresh(*options: str) -> subprocess.CompletedProcess[str]:
    """Run the suite with these options in the current folder. Return the process, which has ended, with its output."""
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    with tempfile.TemporaryDirectory() as temporary:
        settings = Path(temporary) / "pytest.ini"
        settings.write_text("[pytest]\n")
        plugins = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *plugins, "--noconftest", "-c", str(settings), "--pyargs", "spec_tests"]
        words = [*command, "--quiet", "--tb=no", *options]
        return subprocess.run(words, env=environment, capture_output=True, text=True, errors="replace", check=False)
