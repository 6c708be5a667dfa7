"""Try the mutations of the machinery that judges: python -m meta_tests.measure.mutations {list,draw,run,table}

list [TEXT …]           prints the mutations, of which the file or the name has one of the texts
draw                    draws mutations of the modules that have too few (needs Cosmic Ray: the extra `mutation`)
run [TEXT …]            tries those that have no outcome yet, and those that were not killed by other tests than today's;
                        a run that was ended goes on where it was
run [TEXT …] --stale    tries those, too, that were killed on other sources of the suite or by other tests than today's
table                   writes docs/measured/mutations.txt from docs/measured/mutations.json

Each mutation is tried in a copy of the checkout, against the fast tests of its folder and the suite on a few operations, until
one fails, for at most a minute of the processor. The table says how many seconds all of them took.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..mutations.mutation import Mutation, load_mutations
from ..mutations.selection import select_all_tests
from ..mutations.trying import (
    KILLED,
    NOT_DECIDED,
    SURVIVED,
    WALL_SECONDS,
    Outcome,
    copy_checkout,
    hash_sources,
    import_libraries,
    run_tests,
    try_mutation,
)
from ..support.paths import MEASURED

MUTATIONS_JSON, MUTATIONS_TXT = MEASURED / "mutations.json", MEASURED / "mutations.txt"
EQUIVALENT, NOT_RUN = "equivalent", "not run"
COLUMNS = (KILLED, SURVIVED, NOT_DECIDED, EQUIVALENT, NOT_RUN)


def read_outcomes() -> dict[str, Outcome]:
    """Return what is known of the mutations by their names. The outcome of a mutation that has changed since is not known."""
    rows = json.loads(MUTATIONS_JSON.read_text(encoding="utf-8"))["outcomes"] if MUTATIONS_JSON.exists() else []
    known, outcomes = load_mutations(), {row["name"]: Outcome(**row) for row in rows}
    return {name: outcome for name, outcome in outcomes.items() if name in known and known[name].digest == outcome.digest}


def write_outcomes(outcomes: dict[str, Outcome]) -> None:
    rows = ",\n".join(json.dumps(vars(outcomes[name]), ensure_ascii=False) for name in load_mutations() if name in outcomes)
    day, machine = datetime.now(UTC).date().isoformat(), f"{platform.machine()}, Python {platform.python_version()}"
    text = f'{{\n"day": "{day}", "machine": "{machine}",\n"outcomes": [\n{rows}\n]\n}}\n'
    temporary = MUTATIONS_JSON.with_suffix(".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(MUTATIONS_JSON)  # so that a run that is killed leaves a whole file


def choose(texts: Iterable[str]) -> dict[str, Mutation]:
    """Return the mutations of which the name or the file has one of the texts; all, if there are none."""
    texts = list(texts)
    return {
        name: mutation
        for name, mutation in load_mutations().items()
        if not texts or any(t in name + mutation.file for t in texts)
    }


def run(chosen: dict[str, Mutation], *, stale: bool) -> None:
    """Try what has no outcome that still counts, and write each outcome as soon as it is known."""
    known = read_outcomes().items()
    outcomes = {name: found for name, found in known if (found.outcome == KILLED and not stale) or is_of_today(found)}
    due = [mutation for name, mutation in chosen.items() if name not in outcomes and not mutation.equivalent]
    if not due:
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before the last mutation; the same command goes on from here"))
    import_libraries()
    with copy_checkout() as folder:
        outcome, by, seconds = run_tests(select_all_tests(mutation.file for mutation in due), folder, WALL_SECONDS)
        if outcome != SURVIVED:
            raise SystemExit(f"without a mutation, {by or 'a test'} is {outcome}: mend it first")
        print(f"without a mutation, all these tests pass in {seconds:.1f} s of the processor", flush=True)
        for mutation in due:
            found = try_mutation(mutation, folder)
            print(f"{found.outcome:<12} {found.seconds:>5.1f} s  {mutation.name}  {found.by}", flush=True)
            write_outcomes({**read_outcomes(), mutation.name: found})


def is_of_today(outcome: Outcome) -> bool:
    """Whether the outcome is that of today's suite and tests."""
    return outcome.sources == hash_sources(load_mutations()[outcome.name].file)


def judge(mutation: Mutation, outcomes: dict[str, Outcome]) -> str:
    """Return the column of a mutation."""
    if mutation.equivalent:
        return EQUIVALENT
    return outcomes[mutation.name].outcome if mutation.name in outcomes else NOT_RUN


def format_table() -> Iterator[str]:
    """Yield the lines of the table: a row for each file, then what was not killed."""
    mutations, outcomes = load_mutations(), read_outcomes()
    counts: dict[str, Counter[str]] = {mutation.file: Counter() for mutation in sorted(mutations.values(), key=lambda m: m.file)}
    for mutation in mutations.values():
        counts[mutation.file].update([judge(mutation, outcomes)])
    yield f"{'file':<48}" + "".join(f"{column:>13}" for column in COLUMNS)
    for file, count in counts.items():
        yield f"{file:<48}" + "".join(f"{count[column] or '':>13}" for column in COLUMNS)
    total = sum(counts.values(), Counter[str]())
    yield f"{f'all {total.total()} mutations':<48}" + "".join(f"{total[column]:>13}" for column in COLUMNS)
    tried = total[KILLED] + total[SURVIVED] + total[NOT_DECIDED]
    yield ""
    yield f"killed: {total[KILLED]} of the {tried} that were tried, {total[KILLED] / max(tried, 1):.1%}"
    yield f"seconds of the processor: {sum(outcome.seconds for outcome in outcomes.values()):.0f}"
    for column in (SURVIVED, NOT_DECIDED, EQUIVALENT, NOT_RUN):
        for mutation in mutations.values():
            if judge(mutation, outcomes) == column:
                yield f"{column}: {mutation.name} ({mutation.equivalent or mutation.soft})"


def main(arguments: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(prog="python -m meta_tests.measure.mutations", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("list", "run"):
        commands.add_parser(name).add_argument("texts", nargs="*", metavar="TEXT", help="a part of a name or of a file")
    commands.choices["run"].add_argument("--stale", action="store_true", help="also those tried on other sources")
    commands.add_parser("draw")
    commands.add_parser("table")
    options = parser.parse_args(arguments)
    if options.command == "list":
        for name, mutation in choose(options.texts).items():
            print(f"{mutation.file:<48} {name}: {mutation.soft}")
    elif options.command == "run":
        run(choose(options.texts), stale=options.stale)
    elif options.command == "draw":
        from ..mutations.drawing import draw_mutations, write_drawn

        write_drawn(draw_mutations())
    if options.command in ("run", "table"):
        write_table(MUTATIONS_TXT)


def write_table(path: Path) -> None:
    path.write_text("".join(f"{line.rstrip()}\n" for line in format_table()), encoding="utf-8")


if __name__ == "__main__":
    main()
