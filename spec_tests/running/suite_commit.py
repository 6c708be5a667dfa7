"""The commit of the suite that runs, for the header of a report."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ..specification.installation import find_origin

ROOT = Path(__file__).parents[2]
DESCRIBE = ("describe", "--always", "--exclude=*", "--abbrev=40", "--dirty=+")


def find_commit(root: Path = ROOT) -> str:
    """Return the commit of a checkout, with a plus if files of it were changed; or that from which pip has installed the suite.

    Return "" if neither is known.
    """
    return _ask_git(root) if (root / ".git").exists() else str(find_origin().get("vcs_info", {}).get("commit_id", ""))


def _ask_git(root: Path) -> str:
    if (git := shutil.which("git")) is None:
        return ""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # of another repository
    done = subprocess.run([git, "-C", str(root), *DESCRIBE], capture_output=True, text=True, check=False, env=environment)
    return done.stdout.strip()
