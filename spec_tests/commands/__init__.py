"""The command `spec-tests`: each file is one subcommand, whose `main` takes its words and returns the exit status."""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from types import ModuleType

from ..implementation.printable import escape_unencodable

USAGE_ERROR = 4  # the exit status of a command that cannot be carried out as it was typed; pytest's own
HELP_WORDS = ("-h", "--help")


def main(argv: list[str] | None = None) -> int:
    """Run the subcommand that the command line names, and return its exit status."""
    escape_unencodable()
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] in HELP_WORDS:
        print(_format_help())
        return 0 if words else USAGE_ERROR
    if words[0] == "--version":
        from ..specification.version import SPEC_VERSION, __version__

        print(f"spec_tests {__version__}, spec {SPEC_VERSION}")
        return 0
    name, *rest = words
    if name not in subcommands():
        near = difflib.get_close_matches(name, subcommands(), n=1)
        hint = f"did you mean spec-tests {near[0]}?" if near else f"there are {', '.join(subcommands())}"
        if name.endswith(".py"):
            hint = f"to test a file, write spec-tests run {name}"
        print(f"ERROR: spec-tests has no subcommand {name!r}; {hint}", file=sys.stderr)
        return USAGE_ERROR
    return int(load_subcommand(name).main(rest))


def subcommands() -> list[str]:
    """Return the names of the subcommands: of the files in this folder that do not begin with an underscore."""
    return sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("*.py") if path.stem[0] != "_")


def load_subcommand(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def _format_help() -> str:
    """Return the list of subcommands, each with the first line of its file's docstring."""
    summaries = {name: (load_subcommand(name).__doc__ or "").strip().splitlines()[0] for name in subcommands()}
    width = max(map(len, summaries)) + 2
    rows = [f"  {name:<{width}}{summary}" for name, summary in summaries.items()]
    title = "Test implementations of transformer operations against their equations."
    usage = "usage: spec-tests SUBCOMMAND …      (spec-tests SUBCOMMAND --help says more)"
    return "\n".join(
        [title, "", usage, "", *rows, "", "In a pytest run of your own: pytest --pyargs spec_tests --backend=my_backend.py"]
    )
