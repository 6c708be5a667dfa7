"""Do all items of a campaign on a Ray cluster, or side by side on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ._parser import Parser

if TYPE_CHECKING:
    from ..campaign.plan import Plan
    from ..campaign.work import Outcome

EPILOG = """examples:
  spec-tests campaign campaign --ray=local         a cluster on this machine, for the time of the campaign
  spec-tests campaign campaign --ray=auto          the cluster that this machine is part of
  spec-tests campaign campaign --jobs=8            no cluster: eight items side by side
"""


def main(argv: list[str]) -> int:
    """Do the items and print a line for each. Return the exit status: 0 if all are done, 3 if some failed, 4 for a bad option."""
    from ..campaign.plan import PlanError, read_plan
    from ..campaign.ray_engine import RayUnavailable
    from ..campaign.work import FAILED

    parser = Parser("campaign", __doc__, epilog=EPILOG)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the campaign, with its plan.json")
    engines = parser.add_mutually_exclusive_group()
    engines.add_argument("--ray", metavar="ADDRESS", help="the address of a Ray cluster, auto, or local, which starts one")
    engines.add_argument("--jobs", type=int, default=1, metavar="N", help="without Ray: how many side by side (default: 1)")
    options = parser.parse_args(argv)
    if options.jobs < 1:
        parser.error(f"--jobs={options.jobs}: give at least 1")
    failed = 0
    try:
        plan = read_plan(options.folder)
        for count, outcome in enumerate(_do_all(plan, options.folder, options.ray, options.jobs), 1):
            print(f"{count}/{len(plan.items)} {outcome}", flush=True)
            failed += outcome.state == FAILED
    except (PlanError, RayUnavailable) as error:
        parser.error(str(error))
    print(f"next: spec-tests {'campaign' if failed else 'merge'} {options.folder}")
    return 3 if failed else 0


def _do_all(plan: Plan, folder: Path, address: str | None, jobs: int) -> Iterator[Outcome]:
    from ..campaign.ray_engine import do_items_on_ray
    from ..campaign.work import do_items

    return do_items(plan.items, folder, jobs) if address is None else do_items_on_ray(plan, plan.items, folder, address)
