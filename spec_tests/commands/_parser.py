"""The argument parser of the subcommands. It is argparse's, as what it has to do is little, and that needs no installation."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from ..implementation.printable import printable_line
from . import USAGE_ERROR

SENTENCE = 2000  # characters of a refusal that are printed: it may quote a report of others


class Parser(argparse.ArgumentParser):
    """An argument parser that refuses in one sentence, with the exit status that pytest has for it."""

    def __init__(self, subcommand: str, description: str | None, usage: str | None = None, epilog: str | None = None):
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(
            prog=f"spec-tests {subcommand}",
            description=description,
            usage=usage,
            epilog=epilog,
            formatter_class=formatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        print(f"ERROR: {self.prog}: {message} ({self.prog} --help says more)", file=sys.stderr)
        sys.exit(USAGE_ERROR)


def refuse(error: Exception) -> int:
    """Print why a command cannot be carried out, and return the exit status for that."""
    print(f"ERROR: {printable_line(str(error), SENTENCE)}", file=sys.stderr)
    return USAGE_ERROR
