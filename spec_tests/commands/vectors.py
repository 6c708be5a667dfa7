"""Write test vectors: files of inputs with the interval in which each result lies, for those who can run no process."""

from __future__ import annotations

import sys
from pathlib import Path

from ._parser import Parser

COUNT = 16  # random vectors of an operation, besides those that are chosen
SEED = 0


def build_parser() -> Parser:
    parser = Parser("vectors", __doc__)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help="of these operations and gradients (default: all)")
    parser.add_argument("--export", required=True, type=Path, metavar="DIR", help="the folder to write the files into")
    parser.add_argument("--dtype", action="append", default=[], metavar="DTYPE", help="in this dtype alone; may be repeated")
    parser.add_argument("--count", type=int, default=COUNT, metavar="N", help=f"random ones of each operation (default: {COUNT})")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of what is random (default: {SEED})")
    parser.add_argument("--effort", default="smoke", help="how many calls to choose from: smoke (the default), default, thorough")
    return parser


def main(argv: list[str]) -> int:
    """Write the files, print a line for each, and return the exit status: 0, or 4 if that is not possible."""
    import pytest

    from ..inputs.effort import EFFORTS
    from ..running.names import validate_choices
    from ..specification.formats import DTYPES
    from ..specification.registry import gradients, operations
    from ..specification.run_settings import using_settings
    from ..vectors.export import write_vectors

    parser = build_parser()
    options = parser.parse_args(argv)
    known = (*operations(), *gradients())
    try:
        names = validate_choices("operation", options.operations, known) or known
        dtypes = validate_choices("dtype", options.dtype, DTYPES)
        (effort,) = validate_choices("effort", [options.effort], EFFORTS)
        with using_settings(effort=effort):
            for record in write_vectors(options.export, names, max(options.count, 0), options.seed, dtypes):
                share = f"{record['caught']} of {record['deviations']} deviations"
                print(f"{record['operation']:<32} {record['vectors']:>3} vectors, {record['bytes']:>8} bytes, catch {share}")
    except pytest.UsageError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"{error.filename or options.export} cannot be written ({error.strerror})")
    print(f"{options.export}/vectors.json says what each file catches and misses", file=sys.stderr)
    return 0
