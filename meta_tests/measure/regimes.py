"""Measure how much of its error bound a backend uses on each kind of row.

python -m meta_tests.measure.regimes [--write] [BACKEND …]

--write adds the results to docs/measured/regimes.json, beside those of other backends.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from spec_tests.calls.call import Call
from spec_tests.calls.operation import Operation
from spec_tests.inputs.regimes import LOGITS, POINTS, ROWS, VECTORS, Fill, fill
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import specification

from ..support.in_process import backend
from ..support.paths import MEASURED, ROOT

REGIMES_JSON = MEASURED / "regimes.json"
SHIPPED_BACKENDS = ("torch-cpu", "torch-fused")
CALLS_PER_REGIME, BATCH, LENGTH = 8, 16, 257
REGIMES: dict[str, dict[str, Fill]] = {
    "rms_norm": ROWS,
    "layer_norm": ROWS,
    "softmax": LOGITS,
    "log_softmax": LOGITS,
    "gelu": POINTS,
    "silu": POINTS,
    "linear": VECTORS,
    "scaled_dot_product_attention": VECTORS,
}


def draw_calls(operation: Operation, regime: str) -> Iterator[Call]:
    """Draw calls on rows of one regime, with ordinary parameters."""
    f, kinds = operation.storage, REGIMES[operation.name]
    for seed in range(CALLS_PER_REGIME):
        rng = np.random.default_rng(seed)
        filled = fill(rng, (BATCH, LENGTH), kinds, regime, f)
        x = f.round(np.where(np.isinf(filled), filled, np.clip(filled, -f.max, f.max)))
        gain = f.round(rng.standard_normal((2, LENGTH)))
        arguments: dict[str, tuple[Any, ...]] = {
            "rms_norm": (x, gain[0]),
            "layer_norm": (x, *gain),
            "linear": (x, f.round(rng.standard_normal((33, LENGTH)) / 16)),
            "scaled_dot_product_attention": (x[:, :64], *f.round(rng.standard_normal((2, 129, 64)))),
        }
        keywords: dict[str, Any] = {"softmax": {"axis": -1}, "log_softmax": {"axis": -1}}.get(operation.name, {})
        keywords |= {"eps": float(np.float32(1e-5))} if "norm" in operation.name else {}
        yield operation.call(*arguments.get(operation.name, (x,)), **keywords)


def measure_backend(name: str) -> Iterator[dict[str, Any]]:
    """Yield the precision class reached and the shares of the allowed error, by operation, dtype and regime."""
    for operation_name, kinds in REGIMES.items():
        spec = specification(operation_name)
        for dtype in DTYPES:
            operation = Operation(spec, backend(name), dtype, spec.precision)
            for regime in kinds:
                answers = [operation.result(call) for call in draw_calls(operation, regime)]
                for precision in operation.classes():
                    expectations = [answer.call.expectation(precision) for answer in answers]
                    shares = [e.share(a.value) for e, a in zip(expectations, answers, strict=True)]
                    if max(map(np.max, shares)) <= 1:
                        break
                claimed = float(np.mean([e.claimed for e in expectations]))
                worst, median = _round_share(max(map(np.max, shares))), _round_share(np.median(shares))
                used = {"class": precision, "worst": worst, "median": median}
                yield {"operation": operation_name, "dtype": dtype, "regime": regime, **used, "claimed": round(claimed, 3)}


def _round_share(share: Any) -> float:
    return float(f"{float(share):.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m meta_tests.measure.regimes")
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=f"{' and '.join(SHIPPED_BACKENDS)}, if none is named")
    parser.add_argument("--write", action="store_true", help=f"into {REGIMES_JSON.relative_to(ROOT)}")
    options = parser.parse_args()
    entries = json.loads(REGIMES_JSON.read_text()) if REGIMES_JSON.exists() else {}
    for name in options.backends or SHIPPED_BACKENDS:
        entries[name] = list(measure_backend(name))
        for row in entries[name]:
            print(name, *row.values())
    if options.write:
        blocks = (
            f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"
            for name, rows in sorted(entries.items())
        )
        REGIMES_JSON.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


if __name__ == "__main__":
    main()
