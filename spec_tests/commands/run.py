"""Test a backend: `spec-tests run my_backend.py`.

spec-tests run BACKEND [BACKEND …] [OPTION …] is pytest --pyargs spec_tests --backend=BACKEND … OPTION …: every option of pytest
works here, and those of this suite do without the prefix --spec-. `pytest --help` lists them.
"""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess
import sys
from importlib.metadata import entry_points

from ._parser import Parser

PLUGIN = "spec_tests.plugin"
EXAMPLES = """examples:
  spec-tests run my_backend.py -x                      stop at the first failure
  spec-tests run my_backend.py --operation=softmax --dtype=float32
  spec-tests run my_backend.py --effort=smoke -n 2     a quick look, on two cores (with pytest-xdist)
"""


def main(argv: list[str]) -> int:
    """Run pytest on the laws, and return its exit status."""
    parser = Parser("run", __doc__, usage="spec-tests run BACKEND [BACKEND …] [OPTION …]", epilog=EXAMPLES)
    parser.add_argument("backend", metavar="BACKEND", nargs="+", help="a name, module or .py file, with or without :attribute")
    # What follows the first option may be its value, so that backends have to come before it.
    backends = list(itertools.takewhile(lambda word: not word.startswith("-"), argv))
    options = argv[len(backends) :]
    if not backends and options[:1] and options[0] not in ("-h", "--help"):
        parser.error(f"name the backend before the options, as in spec-tests run my_backend.py {shlex.join(options)}")
    names = parser.parse_args(backends or options).backend
    plugin = [] if any(entry.value == PLUGIN for entry in entry_points(group="pytest11")) else ["-p", PLUGIN]
    words = ["pytest", *plugin, "--pyargs", "spec_tests", *(f"--backend={name}" for name in names), *options]
    return _run_module(words)


def _run_module(words: list[str]) -> int:
    """Run `python -m` in a fresh process, since pytest has to import the suite itself. Return its exit status."""
    command = [sys.executable, "-m", *words]
    if os.name == "posix":  # the process becomes pytest, so that signals reach it
        sys.stdout.flush()
        os.execv(sys.executable, command)
    return subprocess.call(command)
