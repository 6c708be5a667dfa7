"""Do items of a campaign: all of them, one, or the share of one machine. What is done is not done again."""

from __future__ import annotations

import re
from pathlib import Path

from ._campaigns import add_options, do_items
from ._parser import Parser

EPILOG = """examples:
  spec-tests work campaign --jobs=4         all items, four side by side
  spec-tests work campaign --item=3/20      the share of the third of twenty machines, which take about as long each
  spec-tests work campaign --item=17        the 17th item of the plan
"""


def main(argv: list[str]) -> int:
    """Do the items and print a line for each. Return the exit status: 0 if all are done, 3 if some failed, 4 for a bad option."""
    from ..campaign.plan import PlanError, deal, read_plan

    parser = Parser("work", __doc__, epilog=EPILOG)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the campaign, with its plan.json")
    parser.add_argument("--item", metavar="K or K/N", help="only item K, or the Kth of N shares; both are counted from 1")
    parser.add_argument("--backend", action="append", default=[], metavar="TEXT", help="only items of this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many side by side (default: 1)")
    add_options(parser)
    options = parser.parse_args(argv)
    try:
        plan = read_plan(options.folder)
    except PlanError as error:
        parser.error(str(error))
    texts = {item.backend for item in plan.items}
    if unknown := [text for text in options.backend if text not in texts]:
        parser.error(f"--backend={unknown[0]} is none of the backends of the plan: {', '.join(sorted(texts))}")
    items = tuple(item for item in plan.items if not options.backend or item.backend in options.backend)
    if options.item is not None:
        found = re.fullmatch(r"(\d{1,9})(?:/(\d{1,9}))?", options.item)
        k, n = (int(found[1]), int(found[2] or len(items))) if found else (0, 0)
        if not 1 <= k <= n:
            parser.error(f"--item={options.item}: give K from 1 to {len(items)}, or K/N with K from 1 to N, as in --item=3/20")
        items = tuple(deal(items, n)[k - 1]) if found and found[2] else items[k - 1 : k]
    return do_items(parser, plan, items, options).exit_status
