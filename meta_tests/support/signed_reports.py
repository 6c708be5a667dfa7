"""Write reports by hand that can be published: finished, with a chain of hashes, of an isolated run, and signed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from spec_tests.publishing.signed_report import SignedReport
from spec_tests.report import format_record, read_data
from spec_tests.report.chain import Chain
from spec_tests.report.signature import Signer, sign

from .handmade_reports import BACKEND, FOOTER, HEADER

needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
ANNA = Signer("anna@example.org", "ED25519", f"SHA256:{'a' * 43}")
Record = dict[str, Any]


def make_key(folder: Path, name: str) -> Path:
    """Make a key without a passphrase, and return the file of its private part."""
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
    return key


def write_signers(file: Path, **keys: Path) -> Path:
    """Write a file of signers: a line for each key, with a name at example.org."""
    file.write_text("".join(f"{name}@example.org {key.with_suffix('.pub').read_text()}" for name, key in keys.items()))
    return file


def chain(records: Sequence[Record]) -> bytes:
    """Return the data of a report of these records, the last of which is its footer, as a run writes them."""
    links = Chain()
    data = b"".join(links.add(format_record(record)) for record in records[:-1])
    return data + links.add(format_record({**records[-1], "sha256": links.hash}))


def rewrite(data: bytes, change: Any) -> bytes:
    """Return data whose records were changed, with all hashes computed again, as a forger does."""
    records = [json.loads(line) for line in data.splitlines()]
    for record in records:
        record.pop("before", None)
    return chain(change(records))


def build_data(*records: Record, backend: Record | None = None, footer: Record = FOOTER, **header: Any) -> bytes:
    return chain([{**HEADER, "isolate": True, **header}, {**BACKEND, **(backend or {})}, *records, footer])


def write_signed(folder: Path, key: Path, *records: Record, **more: Any) -> Path:
    """Write a report and its signature into the folder, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.jsonl").write_bytes(build_data(*records, **more))
    sign(str(folder), key)
    return folder


def build_signed(*records: Record, signer: Signer = ANNA, **more: Any) -> SignedReport:
    """Return a report as if its signature had been checked, for what needs no ssh-keygen."""
    data = build_data(*records, **more)
    return SignedReport(read_data(data, Path("report.jsonl")), data, b"a signature\n", signer)
