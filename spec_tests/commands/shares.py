"""Print the jobs of a campaign for a scheduler: each does the share of one machine, on a machine that has what its items need."""

from __future__ import annotations

from pathlib import Path

from ._parser import Parser

EPILOG = """examples:
  spec-tests shares campaign 20 --format=slurm | bash             needs slurm.sh of examples/campaign
  spec-tests shares campaign 8 --format=buildkite | buildkite-agent pipeline upload
  echo "matrix=$(spec-tests shares campaign 8 --format=github)" >> "$GITHUB_OUTPUT"
"""


def main(argv: list[str]) -> int:
    """Print the jobs, and return the exit status: 0, or 4 for a bad option."""
    from ..campaign.plan import PlanError, read_plan
    from ..campaign.shares import FORMATS, divide
    from ..running.names import validate_choices

    parser = Parser("shares", __doc__, epilog=EPILOG)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the campaign, with its plan.json")
    parser.add_argument("machines", type=int, metavar="N", help="how many machines there are: about so many shares")
    parser.add_argument("--format", default="slurm", metavar="NAME", help="slurm, github or buildkite (default: slurm)")
    options = parser.parse_args(argv)
    if options.machines < 1:
        parser.error(f"{options.machines}: give at least 1 machine")
    import pytest

    try:
        (name,) = validate_choices("format", [options.format], FORMATS)
        print(FORMATS[name](divide(read_plan(options.folder), options.machines), options.folder.as_posix()))
    except (PlanError, pytest.UsageError) as error:
        parser.error(str(error))
    return 0
