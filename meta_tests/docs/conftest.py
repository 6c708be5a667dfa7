"""The site, which several tests read and one process builds."""

import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from ..support.paths import ROOT
from ..support.pytest_process import environment


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Build the site, and return its folder. The workers of pytest-xdist share it."""
    for library in ("sphinx", "furo", "myst_parser", "matplotlib"):
        pytest.importorskip(library)
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "site"
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "built").exists():
            command = ("-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--jobs=auto", "docs", str(folder))
            done = subprocess.run(
                [sys.executable, *command], cwd=ROOT, env=environment(ROOT), capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            (folder / "built").touch()
    return folder
