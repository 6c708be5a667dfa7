"""What `spec-tests work` and `spec-tests campaign` share: they do items and print what happens to each."""

from __future__ import annotations

import argparse
import contextlib
import io
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._parser import Parser

if TYPE_CHECKING:
    from ..campaign.item import Item
    from ..campaign.plan import Plan
    from ..campaign.progress import Progress


def add_options(parser: Parser) -> None:
    """Add the options that both commands have."""
    parser.add_argument(
        "--tries", type=int, default=3, metavar="N", help="how often an item is tried whose process is killed (default: 3)"
    )
    parser.add_argument("--again", action="store_true", help="try items again that were given up")


def do_items(
    parser: Parser, plan: Plan, items: Sequence[Item], options: argparse.Namespace, address: str | None = None
) -> Progress:
    """Do the items, on a Ray cluster if there is an address of one. Return what came of it."""
    from ..campaign.drive import FleetLost
    from ..campaign.local_engine import LocalEngine
    from ..campaign.progress import Progress
    from ..campaign.ray_engine import RayEngine, RayUnavailable
    from ..campaign.run import prepare, run

    for name in ("jobs", "tries"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}={getattr(options, name)}: give at least 1")
    folder = options.folder
    pending = prepare(plan, items, folder, tries=options.tries, again=options.again)
    progress = Progress(len(items), folder, pending.schedule)
    try:
        engine = LocalEngine(folder, options.jobs, plan.limit_seconds) if address is None else RayEngine(plan, folder, address)
        out = sys.stdout
        with contextlib.redirect_stdout(io.StringIO()):  # Ray prints the logs of its nodes when one is lost
            for event in run(pending, engine, folder):
                print(*progress.describe(event, engine.now()), sep="\n", file=out, flush=True)
    except (RayUnavailable, FleetLost) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print("stopped: what is done is kept, and the same command goes on", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    return progress
