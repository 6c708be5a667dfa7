"""With which example a bug is shown: how many elements its arguments have, for each of several seeds.

python -m meta_tests.measure.small_examples [--seeds 20] [--bugs NAME …]

For each bug it prints the first law that fails, the sentence of the cause, and the elements, where they differ from seed to seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

from spec_tests.deviations import backend as with_deviation
from spec_tests.implementation.backend import build_backend
from spec_tests.report.causes import state_cause
from spec_tests.specification.registry import operations

from ..support.in_process import attempt, trials

BUGS = (
    "softmax/axis-ignored",
    "rms_norm/eps-outside-sqrt",
    "rope/half-for-interleaved",
    "cross_entropy/no-maximum-subtracted",
    "gradient_clipping/each-array-alone",
    "scaled_dot_product_attention/scale-by-d-k",
)


@dataclass(frozen=True)
class Shown:
    """What the first failure of a run with one seed shows."""

    law: str
    sentence: str
    elements: int  # of the arguments of all calls


def show(bug: str, seed: int) -> Shown:
    """Try the laws of the operation with this bug as a run with -x does, and return what the first failure shows."""
    name = bug.partition("/")[0]
    under_test = build_backend(with_deviation(bug), set(operations()))
    found = [
        (test, trial)
        for test, trial in trials(under_test, dtypes=("float32",), names=(name,))
        if test.invariant.level is None and test.invariant.subject(trial.operation_name) == name
    ]
    for test, trial in sorted(found, key=lambda pair: not pair[0].invariant.compares_with_oracle):
        if attempt(test, trial, seed, shrink=True) is not None:
            finding = trial.tally.findings_in_order[0]
            elements = sum(call.size for call in finding.failure.calls)
            return Shown(finding.failure.law, state_cause(finding.cause, 1).what, elements)
    raise RuntimeError(f"no law fails of {bug} with seed {seed}")


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--bugs", nargs="+", default=BUGS)
    options = parser.parse_args(None if arguments is None else list(arguments))
    for bug in options.bugs:
        shown = [show(bug, seed) for seed in range(options.seeds)]
        print(f"{bug}: {' '.join(str(one.elements) for one in shown)} elements", flush=True)
        for what in dict.fromkeys((one.law, one.sentence) for one in shown):
            print("   ", *what, flush=True)


if __name__ == "__main__":
    main()
