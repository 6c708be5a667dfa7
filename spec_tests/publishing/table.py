"""The table of collected reports: operations and libraries with their versions, one table for each version of the suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from ..implementation.printable import printable
from ..report.cell import Cell
from ..report.page import group_operations
from ..report.template import render
from ..specification.formats import RESULT_DTYPES
from .changes_page import render_changes
from .collection import Collection, Column, list_columns, split_numbers
from .publication import INDEX, SIGNERS, build_files

FOLDER = Path(__file__).parent
REPORTS = "reports"  # the folder of the pages that cells link to
CHANGES = "changes"  # the folder of the pages between two versions
SIGNS: Mapping[str, str] = MappingProxyType({"deviates": "×", "little": "…", "held": "✓", "mixed": "m", "eager": "e"})
DIFFERENCES: Mapping[str, Callable[[Column], str]] = MappingProxyType(
    {  # what tells reports of one library and version apart; the last one always does
        "device": lambda column: column.device,
        "effort": lambda column: column.signed.report.header.effort,
        "seed": lambda column: column.signed.report.header.seed or "drawn anew",
        "machine": lambda column: f"{column.signed.report.header.machine}, {column.signed.report.header.platform}",
        "signer": lambda column: column.signed.signer.principal,
        "commit of the suite": lambda column: column.signed.report.header.commit or "not recorded",
        "began": lambda column: column.signed.report.header.started,
        "SHA-256": lambda column: column.signed.sha256,
    }
)


@dataclass(frozen=True)
class Mark:
    """What a cell says of one dtype."""

    dtype: str
    state: str  # its class in table.css
    words: str
    address: str

    @property
    def sign(self) -> str:
        """The state in one character: colour is not the only difference."""
        return SIGNS.get(self.state, "")


@dataclass(frozen=True)
class Claims:
    """The reports of one version of the suite: what they claim is the same claim."""

    suite: str
    spec: str
    columns: tuple[Column, ...]

    @cached_property
    def groups(self) -> list[tuple[str, list[str]]]:
        """The groups of operations that a report has tried, each with its title."""
        return group_operations(sorted({operation for column in self.columns for operation in column.result.operations}))

    @property
    def commits(self) -> list[str]:
        """The commits of the suite."""
        return sorted({DIFFERENCES["commit of the suite"](column) for column in self.columns})

    def tell_apart(self, column: Column) -> dict[str, str]:
        """Return what distinguishes a report from others of the same library and version: the fewest that do."""
        others = [each for each in self.columns if (each.library, each.version) == (column.library, column.version)]
        told: dict[str, str] = {}
        left = [other for other in others if other is not column]
        for name, describe in DIFFERENCES.items():
            if len({describe(other) for other in others}) > 1 and left:
                told[name] = describe(column)
                left = [other for other in left if describe(other) == told[name]]
        return told

    def find_earlier(self, column: Column) -> Column | None:
        """Return the report of the version before, on the same device, None if there is none."""
        kin = [each for each in self.columns if (each.library, each.device) == (column.library, column.device)]
        place = next(i for i, each in enumerate(kin) if each is column)
        return next((each for each in reversed(kin[:place]) if each.version != column.version), None)

    def marks(self, column: Column, operation: str) -> list[Mark]:
        """Return what a cell says, of each dtype in which something of the operation was tried."""
        cells = {dtype: column.result.cell(operation, dtype) for dtype in RESULT_DTYPES}
        return [_build_mark(column, operation, dtype, cell) for dtype, cell in cells.items() if cell.tried]


def _build_mark(column: Column, operation: str, dtype: str, cell: Cell) -> Mark:
    conforms = cell.state == "conforms" and column.result.supports_claims
    state = cell.reached if conforms else "held" if cell.state == "conforms" else cell.state
    share = "" if cell.worst is None or cell.failed else f"; largest share of the allowed error {cell.worst:.2f}"
    words = f"{column.library} {column.version}, {operation}, {dtype}: {_describe(cell, conforms=conforms)}{share}"
    return Mark(dtype, state, words, f"{address(column)}#op-{quote(printable(operation))}")


def _describe(cell: Cell, *, conforms: bool) -> str:
    if cell.failed:
        return f"deviates, {len(cell.failed)} of {len(cell.tried)} laws fail"
    if cell.shortfall:
        return f"{cell.shortfall} examples, too few to conform"
    if cell.is_open:
        return "open, as a law that fails in another dtype was not tried in this one"
    if conforms:
        return f"conforms, class {cell.reached}"
    return f"nothing wrong found{f', class {cell.reached}' if cell.reached else ''}; no claim of conformance"


def address(column: Column) -> str:
    """Return the address of the page of a report, from that of the table."""
    return f"{REPORTS}/{column.folder}/{INDEX}"


def address_changes(earlier: Column, column: Column) -> str:
    """Return the address of the page of what changed between two reports."""
    return f"{CHANGES}/{earlier.signed.sha256}-{column.signed.sha256}.html"


def list_claims(collection: Collection) -> list[Claims]:
    """Return the reports by the version of the suite, the newest version first."""
    columns = sorted((column for signed in collection.accepted for column in list_columns(signed)), key=lambda each: each.order)
    versions = {(column.signed.report.header.suite, column.signed.report.header.spec) for column in columns}
    newest_first = sorted(versions, key=lambda version: tuple(map(split_numbers, version)), reverse=True)
    return [Claims(*version, tuple(_select(columns, *version))) for version in newest_first]


def _select(columns: Sequence[Column], suite: str, spec: str) -> list[Column]:
    return [each for each in columns if (each.signed.report.header.suite, each.signed.report.header.spec) == (suite, spec)]


def build_table(collection: Collection, signers: bytes) -> dict[str, bytes]:
    """Return the files of the folder: the table, the folder of each report, what changed between versions, and who may sign."""
    claims = list_claims(collection)
    addresses = {"address": address, "address_changes": address_changes}
    table = render("table.html", FOLDER, "table.css", claims=claims, refused=collection.refused, **addresses)
    files = {INDEX: table.encode(), SIGNERS: signers}
    for signed in collection.accepted:
        folder = f"{REPORTS}/{list_columns(signed)[0].folder}"
        files |= {f"{folder}/{name}": data for name, data in build_files(signed, signers).items()}
    for claim in claims:
        for column in claim.columns:
            if earlier := claim.find_earlier(column):
                page = render_changes(earlier.signed.report, column.signed.report)
                files[address_changes(earlier, column)] = page.encode()
    return files
