"""The options of the command line.

The plugin adds them only to runs that concern this suite, because other projects have a --backend of their own.
"""

from __future__ import annotations

from typing import Any

from ..inputs.effort import EFFORTS
from ..specification.formats import DTYPES, PRECISIONS
from ..specification.run_settings import MEMORY_BUDGET_GB


def add_options(parser: Any) -> None:
    """Add the options to a pytest parser, once."""
    if getattr(parser, "_spec_tests", False):
        return
    parser._spec_tests = True
    group = parser.getgroup("spec_tests", "conformance of transformer operations")
    group.addoption(
        "--backend",
        action="append",
        default=[],
        metavar="NAME",
        help="the implementation under test: a built-in name (see --list-backends), a path to a .py file, a dotted module "
        "name, module:attribute, or a name registered under spec_tests.backends; may be repeated (default: numpy-cpu)",
    )
    group.addoption("--list-backends", action="store_true", help="print the backends that can be named, and exit")
    group.addoption("--list-deviations", action="store_true", help="print the bugs that are known by name, and exit")
    group.addoption("--dtype", action="append", default=[], metavar="DTYPE", help=f"only these of {', '.join(DTYPES)}")
    group.addoption("--precision", metavar="CLASS", help=f"hold every operation to at least this class: {', '.join(PRECISIONS)}")
    group.addoption("--effort", default="default", metavar="EFFORT", help=f"how much to try: {', '.join(EFFORTS)}")
    group.addoption(
        "--memory-budget",
        default=f"{MEMORY_BUDGET_GB:g}",
        metavar="GB",
        help="gigabytes that the arrays of one call may take at thorough effort "
        f"(default: {MEMORY_BUDGET_GB:g}); 2^31 elements need 20",
    )
    group.addoption(
        "--shapes", metavar="N", help="draw the examples of an operation from N shapes, for a backend that compiles for each anew"
    )
    group.addoption("--require", action="append", default=[], metavar="OPERATION", help="fail where this is not implemented")
    group.addoption("--require-level", action="append", default=[], metavar="LEVEL", help="fail where this level does not hold")
    group.addoption("--report", metavar="DIR", help="write report.jsonl there as the run goes, and a page and a badge at its end")
    group.addoption("--isolate", action="store_true", help="run each backend in a process of its own, apart from the oracle")
    group.addoption("--time-limit", metavar="SECONDS", help="what a call may take (default: 60)")
    group.addoption("--memory-limit", metavar="SIZE", help="what the backend's process may have, as in 4GiB (default: no limit)")
    group.addoption("--example", metavar="ROW", help="play this example alone, as a failure has printed it")
    for kind, what in (("failing", "must fail: a pass is an error"), ("flaky", "may fail")):
        group.addoption(f"--known-{kind}", metavar="FILE", help=f"JSON lines of what {what}")
    group.addoption("--update-known", action="store_true", help="write what this run shows into these files")
    group.addoption("--resume", action="store_true", help="go on with the report in --report=DIR: try what it lacks")
