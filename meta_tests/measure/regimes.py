"""How much of the bound real kernels use on each kind of rows: python -m meta_tests.measure.regimes [--write] [BACKEND …]

--write puts what is measured into docs/measured/regimes.json, beside what was measured of other backends.
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

DATA = MEASURED / "regimes.json"
SHIPPED = ("torch-cpu", "torch-fused")
ROUNDS, BATCH, LENGTH = 8, 16, 257
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


def calls(operation: Operation, regime: str) -> Iterator[Call]:
    """Some rows of one regime, with ordinary parameters."""
    f, kinds = operation.storage, REGIMES[operation.name]
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        filled = fill(rng, (BATCH, LENGTH), kinds, regime, f)
        x = f.round(np.where(np.isinf(filled), filled, np.clip(filled, -f.max, f.max)))
        gain = f.round(rng.standard_normal((2, LENGTH)))
        given: dict[str, tuple[Any, ...]] = {
            "rms_norm": (x, gain[0]),
            "layer_norm": (x, *gain),
            "linear": (x, f.round(rng.standard_normal((33, LENGTH)) / 16)),
            "scaled_dot_product_attention": (x[:, :64], *f.round(rng.standard_normal((2, 129, 64)))),
        }
        keywords: dict[str, Any] = {"softmax": {"axis": -1}, "log_softmax": {"axis": -1}}.get(operation.name, {})
        keywords |= {"eps": float(np.float32(1e-5))} if "norm" in operation.name else {}
        yield operation.call(*given.get(operation.name, (x,)), **keywords)


def measured(name: str) -> Iterator[dict[str, Any]]:
    """The class reached and the shares of the allowed error, by operation, dtype and regime."""
    for subject, kinds in REGIMES.items():
        for dtype in DTYPES:
            operation = Operation(specification(subject), backend(name), dtype, specification(subject).precision)
            for regime in kinds:
                answers = [operation.result(call) for call in calls(operation, regime)]
                for precision in operation.classes():
                    expectations = [answer.call.expectation(precision) for answer in answers]
                    shares = [e.share(a.value) for e, a in zip(expectations, answers, strict=True)]
                    if max(map(np.max, shares)) <= 1:
                        break
                claimed = float(np.mean([e.claimed for e in expectations]))
                known = {"class": precision, "worst": _digits(max(map(np.max, shares))), "median": _digits(np.median(shares))}
                yield {"operation": subject, "dtype": dtype, "regime": regime, **known, "claimed": round(claimed, 3)}


def _digits(share: Any) -> float:
    return float(f"{float(share):.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m meta_tests.measure.regimes")
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=f"{' and '.join(SHIPPED)}, if none is named")
    parser.add_argument("--write", action="store_true", help=f"into {DATA.relative_to(ROOT)}")
    options = parser.parse_args()
    entries = json.loads(DATA.read_text()) if DATA.exists() else {}
    for name in options.backends or SHIPPED:
        entries[name] = list(measured(name))
        for row in entries[name]:
            print(name, *row.values())
    if options.write:
        blocks = (
            f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"
            for name, rows in sorted(entries.items())
        )
        DATA.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


if __name__ == "__main__":
    main()
