"""Plan a campaign: list its items, those that take longest first, in a file that any number of machines work from."""

from __future__ import annotations

from pathlib import Path

from ._parser import Parser

EPILOG = """examples:
  spec-tests plan my_backend.py other.py --effort=thorough --seeds=100 -o campaign
  spec-tests work campaign --item=3/20        the third of twenty machines
  spec-tests merge campaign
"""


def main(argv: list[str]) -> int:
    """Write the plan, print what it will take, and return the exit status: 0, or 4 if that is not possible."""
    import pytest

    from ..campaign.durations import say_duration
    from ..campaign.needs import Needs, NeedsError, state_needs
    from ..campaign.plan import (
        LIMIT_SECONDS,
        PLAN,
        Plan,
        PlanError,
        choose_world_sizes,
        count_ranks,
        describe_backends,
        expect_seconds,
        list_items,
        slice_seeds,
    )
    from ..campaign.timing import estimate, read_timings
    from ..implementation.lookup import BackendError
    from ..inputs.effort import EFFORTS
    from ..report import ReportError
    from ..running.arguments import parse_world_size
    from ..running.names import validate_choices
    from ..specification.formats import DTYPES
    from ..specification.registry import gradients, operations

    parser = Parser("plan", __doc__, epilog=EPILOG)
    parser.add_argument("backends", nargs="+", metavar="BACKEND", help="what --backend takes")
    parser.add_argument("-o", "--output", type=Path, default=Path("campaign"), metavar="DIR", help="the folder of the campaign")
    parser.add_argument("--operation", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--dtype", action="append", default=[], metavar="DTYPE", help="only this one; may be repeated")
    parser.add_argument("--effort", default="default", help="smoke, default or thorough (default: default)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the campaign: another one draws other examples")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="how many times the examples of a run are drawn anew")
    parser.add_argument("--seeds-per-item", type=int, default=10, metavar="N", help="seeds that one item tries (default: 10)")
    parser.add_argument("--isolate", action="store_true", help="run each backend in a process of its own")
    parser.add_argument("--world-size", metavar="N", help="the number of ranks of the backends that run on several")
    parser.add_argument(
        "--times", type=Path, metavar="DIR", help="the report of an earlier run or campaign, for expected seconds"
    )
    of_all = "for all backends or as BACKEND=VALUE"
    parser.add_argument(
        "--gpu", action="append", default=[], metavar="N", help=f"GPUs of an item, such as 0.25, {of_all}; BACKEND alone: 1"
    )
    parser.add_argument("--accelerator-type", action="append", default=[], metavar="TYPE", help=f"such as H100, {of_all}")
    parser.add_argument("--cpus", action="append", default=[], metavar="N", help=f"of an item, {of_all} (default: its ranks)")
    parser.add_argument("--memory", action="append", default=[], metavar="SIZE", help=f"of an item, such as 4GiB, {of_all}")
    parser.add_argument("--alone", action="append", default=[], metavar="BACKEND", help="its items need a whole machine")
    parser.add_argument(
        "--max-calls", type=int, metavar="N", help="cut an item after N calls of its backend; it is then merged as not tried"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT_SECONDS,
        metavar="SECONDS",
        help=f"end an item after so many seconds, with all that it has started: a safety net (default: {LIMIT_SECONDS:g})",
    )
    parser.add_argument("--machines", default="1,10,100", metavar="N,N", help="for how many to say what it takes")
    options = parser.parse_args(argv)
    if min(options.seeds, options.seeds_per_item) < 1:
        parser.error("--seeds and --seeds-per-item are at least 1")
    if options.max_calls is not None and options.max_calls < 1:
        parser.error(f"--max-calls={options.max_calls}: give at least 1")
    if not 0 < options.limit < float("inf"):
        parser.error(f"--limit={options.limit}: give a number of seconds greater than 0")
    try:
        names = validate_choices("operation", options.operation, (*operations(), *gradients()))
        dtypes = validate_choices("dtype", options.dtype, DTYPES)
        (effort,) = validate_choices("effort", [options.effort], EFFORTS)
        machines = [int(count) for count in options.machines.split(",")]
        world_size = parse_world_size({"world_size": options.world_size}.get)
        world_sizes = choose_world_sizes(options.backends, Path.cwd(), world_size)
        needs = state_needs(
            options.backends,
            count_ranks(options.backends, Path.cwd(), world_sizes),
            cpus=options.cpus,
            gpus=options.gpu,
            accelerator_types=options.accelerator_type,
            memory=options.memory,
            alone=options.alone,
        )
        backends = describe_backends(options.backends, world_sizes)
        if len({backend.name for backend in backends}) < len(backends):
            parser.error("two backends have the same name, so that their reports could not be told apart; rename one")
        slices = slice_seeds(options.seeds, options.seeds_per_item)
        chosen = {"seed": options.seed, "operations": names, "dtypes": dtypes, "isolate": options.isolate}
        chosen["max_calls"] = options.max_calls
        sizes = [world_sizes.get(backend.text) for backend in backends]
        items = [
            item
            for backend, size in zip(backends, sizes, strict=True)
            for item in list_items(backend, effort, slices, world_size=size, **chosen)
        ]
        if not items:
            parser.error("no backend has an operation and a dtype of those that were named")
        timed, measured = estimate(items, read_timings(options.times))
        plan = Plan(tuple(timed), tuple(backends), needs=needs, limit_seconds=options.limit)
        options.output.mkdir(parents=True, exist_ok=True)
        plan.write(options.output / PLAN)
    except (pytest.UsageError, PlanError, NeedsError, ReportError, BackendError) as error:
        parser.error(str(error))
    except ValueError:
        parser.error(f"--machines={options.machines}: give numbers, as in --machines=1,10,100")
    except OSError as error:
        parser.error(f"{options.output} cannot be written ({error.strerror or error})")
    basis = f"{measured} of them as measured" if measured else "a guess; --times=DIR has measured seconds"
    print(f"{options.output / PLAN}: {len(items)} items, {say_duration(plan.seconds)} on one core ({basis})")
    for count in machines:
        print(f"  {count:>4} core{'s' if count != 1 else ' '}: {say_duration(expect_seconds(timed, max(count, 1)))}")
    if any(own != Needs() for own in needs.values()):
        print(*(f"  each item of {text} needs {own}" for text, own in needs.items()), sep="\n")
    print(f"next: spec-tests work {options.output}")
    return 0
