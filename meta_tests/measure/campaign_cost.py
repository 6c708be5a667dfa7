"""Plan a large campaign from measured seconds: `python -m meta_tests.measure.campaign_cost > docs/measured/campaign_cost.txt`.

The seconds are those of docs/measured/conformance.json and gradients.json. A run at another effort is scaled by the number of
examples that the efforts draw. An operation that a backend has no measured run of is not counted, and neither are backends that
were measured on a GPU: the machines of the plan have none.
"""

from __future__ import annotations

import json
from typing import Any

from spec_tests.inputs.effort import EFFORTS

from ..support.paths import MEASURED

SEEDS, SEEDS_PER_ITEM = 100, 10
MACHINES = (1, 10, 100)
CORES = 16  # of a machine


def measure_seconds(entry: dict[str, Any]) -> float:
    """Return the CPU seconds of one run of a backend at thorough effort."""
    return float(entry["seconds"] * EFFORTS["thorough"].base / EFFORTS[entry["effort"]].base)


def main() -> None:
    seconds: dict[str, float] = {}
    items = 0
    for name in ("conformance.json", "gradients.json"):
        for backend, entry in json.loads((MEASURED / name).read_text()).items():
            if "cells" in entry and not backend.endswith("-cuda"):
                seconds[backend] = seconds.get(backend, 0.0) + measure_seconds(entry)
                items += sum(len(cells) for cells in entry["cells"].values()) * (SEEDS // SEEDS_PER_ITEM)
    hours = SEEDS * sum(seconds.values()) / 3600
    longest = max(seconds, key=seconds.__getitem__)
    print(
        f"{len(seconds)} backends, thorough effort, {SEEDS} seeds: {items} items of {SEEDS_PER_ITEM} seeds, {hours:.0f} CPU hours"
    )
    print(f"longest: {longest}, {SEEDS * seconds[longest] / 3600:.0f} CPU hours")
    for machines in MACHINES:
        print(f"{machines:>4} machine{'s' * (machines > 1):<1} of {CORES} cores: {hours / (machines * CORES):.1f} hours")


if __name__ == "__main__":
    main()
