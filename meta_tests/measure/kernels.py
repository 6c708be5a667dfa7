"""Run the suite on the kernels of meta_tests/backends/kernels in Triton's interpreter, and say what it finds in each.

python -m meta_tests.measure.kernels [NAME …] [--write] [--effort smoke]

--write writes the rows of these kernels into docs/measured/kernels.txt. A right kernel must raise no alarm. Of a faulty one
the laws of its operation are tried, and what they say is compared with the sentence in its file. The interpreter runs the
programs of a kernel one after the other, in NumPy: what it does not show, and what is written in CUDA C++, needs a GPU.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from spec_tests.implementation.backend import Backend
from spec_tests.report.causes import state_cause
from spec_tests.specification.run_settings import using_settings

from ..support.explained_faults import SEED, count_verdicts, try_laws
from ..support.in_process import attempt, backend, trials
from ..support.kept_rows import KeptRows
from ..support.kernels import Kernel, list_kernels
from ..support.paths import MEASURED

FILE = MEASURED / "kernels.txt"
ALSO_TRUE = {  # read after a first run: a sentence that is true of a fault, and not the one that was written down
    "attention_own_key_hidden": "wrong only where is_causal = True, in queries that see 2 keys or more",
    "attention_padded_keys_count": "keys of zeros pad the last block of 16, and their exponentials of 0 are part of the sum",
    "attention_scale_of_the_block": "1 / sqrt(«q.shape[-1] rounded up to a power of 2»)",
    "embedding_vjp_not_zeroed": "some elements of the result are never written",
    "l2_norm_eps_left_out": "epsilon is ignored: x / sqrt(sum(x²))",
    "layer_norm_padding_in_the_variance": "the lanes that pad the row to a power of two hold 0, and 0 − mean joins the variance",
    "linear_from_the_second_block": "the input features in the first block of 16 of weight are left out",
    "log_softmax_not_rescaled": "wrong only from n = 17 on",
    "logsumexp_splits_not_rescaled": "wrong only from n = 33 on",
    "softmax_last_row_left_out": "some elements of the result are never written",
    "softmax_maximum_of_the_first_block": "e = exp(x - max(«the first 16 of x along axis»))",
    "softmax_padded_with_zeros": "the row is padded to a power of two with 0, not with −∞",
    "softmax_vjp_sum_of_the_first_block": "dx = y * c - y * sum(«the first 32 of (y * c) along axis»)",
    "swiglu_columns_beyond_the_first_block": "the hidden features from 32 on of w2 are left out",
}


def list_interpreted() -> dict[str, Kernel]:
    """Return the kernels that the interpreter runs, by name."""
    kernels = [*list_kernels("right"), *list_kernels("faulty")]
    return {kernel.name: kernel for kernel in kernels if not kernel.needs_gpu}


def try_kernel(kernel: Kernel) -> str:
    """Return the lines about a kernel."""
    under_test = backend(str(kernel.path))
    if kernel.fault is None:
        return "\n".join(describe_alarms(kernel.name, under_test))
    fault = replace(kernel.fault, also_true=ALSO_TRUE.get(kernel.name))
    return "\n".join(try_laws(fault, under_test).describe())


def describe_alarms(name: str, under_test: Backend) -> Iterator[str]:
    """Yield the lines about a right kernel: every law is tried, but for levels."""
    for test, trial in trials(under_test):
        if not test.invariant.level:
            attempt(test, trial, SEED, shrink=True)
    alarms = [f"  said      {state_cause(cause, 1).what}" for cause in under_test.causes]
    yield f"{name}: {'ALARM' if alarms else 'no alarm'}"
    yield from alarms


def read_rows() -> dict[str, str]:
    """Return the committed rows by the names of their kernels."""
    blocks = FILE.read_text().strip().split("\n\n")[1:] if FILE.exists() else []
    return {block.partition(":")[0]: block for block in blocks}


def main(arguments: Sequence[str] | None = None) -> None:
    os.environ["TRITON_INTERPRET"] = "1"  # read where triton is imported, with the first kernel
    kernels = list_interpreted()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a kernel; all, if none is given")
    parser.add_argument("--effort", default="smoke")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in kernels]:
        parser.error(f"the interpreter runs no kernel {', '.join(unknown)}")
    kept = KeptRows(f"kernels {options.effort}")
    rows = read_rows() if options.names else {}
    for name in options.names or kernels:
        if name not in kept.rows:
            with using_settings(effort=options.effort):
                kept.add(name, try_kernel(kernels[name]))
        rows[name] = kept.rows[name]
        print(rows[name], flush=True)
        if options.write and options.names:
            write_rows(rows, list(kernels), options.effort)
    if options.write:
        write_rows(rows, list(kernels), options.effort)


def write_rows(rows: dict[str, str], names: list[str], effort: str) -> None:
    """Write the rows of these kernels, in this order, and which have none."""
    kept = {name: rows[name] for name in names if name in rows}
    missing = ", ".join(name for name in names if name not in rows)
    first = count_verdicts(kept, f"kernels in the interpreter at {effort} effort") + (f"; not run: {missing}" if missing else "")
    FILE.write_text("\n\n".join([first, *kept.values()]) + "\n")


if __name__ == "__main__":
    main()
