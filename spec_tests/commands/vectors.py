"""Write test vectors: files of inputs with the interval in which each result lies, for those who can run no process.

`--export` writes a folder and `--archive` one file; `--verify` checks either.
"""

from __future__ import annotations

import sys
import tarfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from ._parser import Parser

SEED = 0
DAMAGED = 1  # the exit status if --verify finds a fault
DOMAIN_HELP = "JSON or a file of it: which arguments the implementation takes, as in --domain of a run"


def build_parser() -> Parser:
    parser = Parser("vectors", __doc__)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help="of these operations and gradients (default: all)")
    parser.add_argument("--export", type=Path, metavar="DIR", help="the folder to write the files into")
    parser.add_argument("--archive", type=Path, metavar="FILE", help="the archive (tar) to write them into")
    parser.add_argument("--verify", type=Path, metavar="PATH", help="check the hashes and the format of an archive or a folder")
    parser.add_argument("--domain", metavar="JSON", help=DOMAIN_HELP)
    parser.add_argument("--dtype", action="append", default=[], metavar="DTYPE", help="in this dtype alone; may be repeated")
    parser.add_argument("--count", type=int, default=0, metavar="N", help="random ones of each operation besides (default: 0)")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of what is random (default: {SEED})")
    parser.add_argument("--bugs", action="store_true", help="say of each vector which known bugs it catches, which takes longer")
    parser.add_argument("--effort", default="smoke", help="how many calls to choose from: smoke (the default), default, thorough")
    return parser


def main(argv: list[str]) -> int:
    """Write or check the files, and return the exit status: 0, 1 if --verify finds a fault, or 4 if that is not possible."""
    parser = build_parser()
    options = parser.parse_args(argv)
    if options.verify:
        if options.operations or options.export or options.archive:
            parser.error("--verify checks an archive or a folder, and writes none")
        return verify(parser, options.verify)
    if not (options.export or options.archive):
        parser.error("name what to write: --export=DIR, --archive=FILE, or both; or --verify=PATH to check one")
    return write(parser, options)


def verify(parser: Parser, path: Path) -> int:
    """Print in one sentence whether the files of an archive or a folder are whole."""
    from ..vectors.files import read_files
    from ..vectors.verify import describe_files, find_fault

    try:
        files = read_files(path)
    except tarfile.TarError as error:
        print(f"{path} is no archive of vectors ({error}).")
        return DAMAGED
    except OSError as error:
        parser.error(f"{path} cannot be read ({error.strerror})")
    if fault := find_fault(files):
        print(f"{path} is damaged: {fault}.")
        return DAMAGED
    print(f"{path} is whole: {describe_files(files)}; every file has its hash.")
    return 0


def write(parser: Parser, options: Namespace) -> int:
    """Write the files, and print a line for each operation."""
    import pytest

    from ..implementation.lookup import BackendError
    from ..inputs.effort import EFFORTS
    from ..running.arguments import parse_domain
    from ..running.names import validate_choices
    from ..servers.description import describe_as_json
    from ..servers.interface import interface
    from ..specification.formats import DTYPES
    from ..specification.registry import gradients, operations
    from ..specification.run_settings import using_settings
    from ..vectors.candidates import make_oracle
    from ..vectors.export import Request
    from ..vectors.files import build_files, write_archive, write_folder

    def describe(names: list[str]) -> Any:
        return describe_as_json([interface(name) for name in names])

    known = (*operations(), *gradients())
    try:
        names = validate_choices("operation", options.operations, known) or known
        dtypes = validate_choices("dtype", options.dtype, DTYPES)
        (effort,) = validate_choices("effort", [options.effort], EFFORTS)
        domain = parse_domain(lambda name: getattr(options, name), Path.cwd()) or {}
        make_oracle(domain)
        request = Request(options.seed, max(options.count, 0), dtypes, domain, options.bugs)
        with using_settings(effort=effort):
            files = build_files(names, request, describe, print)
        if not any(name.endswith(".safetensors") for name in files):
            parser.error("no call of these operations in these dtypes and this domain is small enough for a vector")
        if options.export:
            write_folder(options.export, files)
            print(f"{options.export}/vectors.json says what the files hold", file=sys.stderr)
        if options.archive:
            print(f"{write_archive(options.archive, files)}  {options.archive}")
    except (pytest.UsageError, BackendError) as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"{error.filename or options.export or options.archive} cannot be written ({error.strerror})")
    return 0
