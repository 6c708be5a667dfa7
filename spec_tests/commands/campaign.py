"""Do all items of a campaign on a Ray cluster, or side by side on this machine."""

from __future__ import annotations

from pathlib import Path

from ._campaigns import add_options, do_items
from ._parser import Parser

EPILOG = """examples:
  spec-tests campaign campaign --ray=local         a cluster on this machine, for the time of the campaign
  spec-tests campaign campaign --ray=auto          the cluster that this machine is part of
  spec-tests campaign campaign --jobs=8            no cluster: eight items side by side
"""


def main(argv: list[str]) -> int:
    """Do the items and print a line for each. Return the exit status: 0 if all are done, 3 if some failed, 4 for a bad option."""
    from ..campaign.plan import PlanError, read_plan

    parser = Parser("campaign", __doc__, epilog=EPILOG)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the campaign, with its plan.json")
    engines = parser.add_mutually_exclusive_group()
    engines.add_argument("--ray", metavar="ADDRESS", help="the address of a Ray cluster, auto, or local, which starts one")
    engines.add_argument("--jobs", type=int, default=1, metavar="N", help="without Ray: how many side by side (default: 1)")
    add_options(parser)
    options = parser.parse_args(argv)
    try:
        plan = read_plan(options.folder)
    except PlanError as error:
        parser.error(str(error))
    done = do_items(parser, plan, plan.items, options, options.ray)
    print(f"next: spec-tests {'merge' if done.can_be_merged else 'campaign'} {options.folder}")
    return done.exit_status
