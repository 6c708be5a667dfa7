"""Draw mutations with the operators of Cosmic Ray: some of each module, of as many operators as there are.

Cosmic Ray changes the text of a file, so that decorated functions and tables are changed, too. Its own runner writes into the
checkout; therefore only its operators are used, and `trying.py` writes each change into a copy.
"""

from __future__ import annotations

import ast
import difflib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .mutation import DRAWN, DoesNotApply, Mutation, load_drawn, read_source

MODULES = (
    *("bounds/bounded", "bounds/rules", "bounds/error_model", "bounds/sampled_error", "bounds/random_rounding"),
    *("bounds/expectation", "bounds/derivation", "bounds/choices", "calls/call", "calls/conventions", "calls/read_array"),
    *("calls/operation", "calls/call_facts", "inputs/regimes", "inputs/values", "helpers/assertions", "specification/formats"),
    *("implementation/process_state", "implementation/states", "running/exit_status", "report/records"),
    *(
        "report/verdicts",
        "trials/coverage",
        "trials/shares",
        "diagnosis/regions/condition",
        "diagnosis/regions/facts/of_calls/memory",
    ),
    *("diagnosis/regions/facts/of_calls/lengths", "diagnosis/regions/facts/of_elements/rows", "diagnosis/regions/met_conditions"),
    *("processes/message", "tampering/snapshot"),
)
PER_MODULE = 2
_ARITHMETIC, _COMPARISON = "(Add|Sub|Mul|Div)", "(Lt|LtE|Gt|GtE|Eq|NotEq)"
OPERATORS = re.compile(  # those whose changes are still arithmetic and comparisons; others mostly raise at once
    rf"core/(ReplaceBinaryOperator_{_ARITHMETIC}_{_ARITHMETIC}|ReplaceComparisonOperator_{_COMPARISON}_{_COMPARISON}"
    r"|ReplaceUnaryOperator_(Delete_(Not|Invert|USub)|USub_UAdd)|ReplaceOrWithAnd|ReplaceAndWithOr|AddNot"
    r"|ReplaceTrueWithFalse|ReplaceFalseWithTrue|NumberReplacer)"
)


def draw_mutations() -> list[Mutation]:
    """Return PER_MODULE mutations of each module. Those that are stored and still apply stay."""
    stored = defaultdict(list)
    for mutation in load_drawn():
        if read_source(mutation.file).count(mutation.old) == 1:
            stored[mutation.file].append(mutation)
    drawn: list[Mutation] = []
    for module in MODULES:
        file = f"spec_tests/{module}.py"
        own = stored[file][:PER_MODULE]
        candidates = list_mutations(file) if len(own) < PER_MODULE else iter(())
        taken = {mutation.old for mutation in own}
        for mutation in candidates:
            if len(own) == PER_MODULE:
                break
            if mutation.old not in taken:
                own.append(mutation)
                taken.add(mutation.old)
        drawn += own
    return drawn


def list_mutations(file: str) -> Iterator[Mutation]:
    """Yield all mutations of a file in an order that its name decides, one of each operator before a second one of any."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    source, chance = read_source(file), random.Random(file)
    tree = get_ast(source)
    by_operator: dict[str, list[int]] = {}
    for name in operator_names():
        if not OPERATORS.fullmatch(name):
            continue
        operator = get_operator(name)()
        count = sum(1 for node in ast_nodes(tree) for _ in operator.mutation_positions(node))
        by_operator[name] = chance.sample(range(count), count)
    while any(by_operator.values()):
        names = [name for name, occurrences in by_operator.items() if occurrences]
        for name in chance.sample(names, len(names)):
            occurrence = by_operator[name].pop()
            changed = mutate_code(source, get_operator(name)(), occurrence)
            mutation = _describe_change(file, name.rpartition("/")[2], source, changed) if changed else None
            if mutation and _is_code(changed):
                yield mutation


def _is_code(text: str) -> bool:
    """Whether Python takes the text: the ** of keywords, for example, is no operator."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _describe_change(file: str, operator: str, source: str, changed: str) -> Mutation | None:
    """Return a change of a file as the lines that it replaces, with as many lines before them as make the place the only one."""
    before, after = source.splitlines(keepends=True), changed.splitlines(keepends=True)
    blocks = [
        block for block in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if block[0] != "equal"
    ]
    if len(blocks) != 1:
        return None
    _, first, last, start, stop = blocks[0]
    for extra in range(min(first, 4) + 1):
        old, new = "".join(before[first - extra : last]), "".join(before[first - extra : first] + after[start:stop])
        name = f"{file.removeprefix('spec_tests/').removesuffix('.py')}: {_shorten(before[first:last], after[start:stop])}"
        mutation = Mutation(name, file, old, new, operator)
        try:
            mutation.apply(source)
        except DoesNotApply:
            continue
        return mutation
    return None


def _shorten(before: list[str], after: list[str]) -> str:
    """Return the words that change, with two words on either side, as a name."""
    old, new = "".join(before).split(), "".join(after).split()
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    last = next((i for i, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b), 0)
    start = max(first - 2, 0)
    shown = (" ".join(words[start : max(len(words) - max(last - 2, 0), first + 1)]) for words in (old, new))
    return " → ".join(shown)


def write_drawn(mutations: list[Mutation]) -> None:
    rows: list[dict[str, Any]] = [vars(mutation) for mutation in mutations]
    DRAWN.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
