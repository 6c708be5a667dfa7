"""Signatures of reports, by ssh-keygen: who has an SSH key can sign, and who has its public key can check.

The hash in a report shows that it was changed by accident. Who forges a report can compute it again, and cannot sign it.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import ReportError, find_data, read, read_bytes

PROGRAM = "ssh-keygen"
NAMESPACE = "spec-tests-report"  # a signature holds for this purpose alone
SUFFIX = ".sig"
GOOD = re.compile(r" with (?P<type>\S+) key (?P<fingerprint>\S+)$", re.MULTILINE)  # the end of what ssh-keygen says of it


def sign(report: str, key: Path) -> Path:
    """Sign the data of a report that is finished with a private key, or the public key of one in ssh-agent. Return the file."""
    data = find_data(report)
    if not read(data).footer:
        raise ReportError(f"{data} is not finished, and only a finished report is signed; --resume finishes it")
    file = data.with_name(data.name + SUFFIX)
    file.unlink(missing_ok=True)  # ssh-keygen would ask
    done = _run("sign", "-f", str(key), str(data))
    if done.returncode:
        raise ReportError(f"{data} cannot be signed with {key}: {_last_line(done)}")
    return file


@dataclass(frozen=True)
class Signer:
    """Who has signed a report: the name in the file of signers, and the key."""

    principal: str
    key_type: str  # such as ED25519
    fingerprint: str  # of the public key, as ssh-keygen -l prints it

    def __str__(self) -> str:
        return f"{self.principal} with the {self.key_type} key {self.fingerprint}"


def verify(report: str, signers: Path) -> Signer:
    """Return who has signed the data of a report, of the signers that a file allows. Raise ReportError if nobody has."""
    data = find_data(report)
    return verify_data(read_bytes(data), read_signature(data), signers, data)


def read_signature(data: Path) -> bytes:
    """Return the signature that lies beside the data of a report."""
    file = data.with_name(data.name + SUFFIX)
    try:
        return file.read_bytes()
    except OSError:
        command = f"spec-tests report {shlex.quote(str(data.parent))} --sign=KEY"
        raise ReportError(
            f"{data} has no signature: there is no {file.name} beside it; who made it signs it by {command}"
        ) from None


def read_signers(signers: Path) -> bytes:
    """Return the file of those who may sign."""
    try:
        return signers.read_bytes()
    except OSError:
        raise ReportError(f"there is no file {signers}; it has a line for each signer: a name, and the public key") from None


def verify_data(data: bytes, signature: bytes, signers: Path, path: Path) -> Signer:
    """Return who has signed these data, of the signers that a file allows. `path` is what messages call the data.

    The file has a line for each signer, a name followed by the public key, as `ssh-keygen` describes under ALLOWED SIGNERS.
    """
    read_signers(signers)
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder) / "signature").write_bytes(signature)
        found = _run("find-principals", "-s", str(file), "-f", str(signers))
        if found.returncode:
            raise ReportError(f"{path} is signed by nobody whom {signers} names: {_last_line(found)}")
        principal = found.stdout.splitlines()[0]
        checked = _run("verify", "-f", str(signers), "-I", principal, "-s", str(file), text=data)
    good = GOOD.search(checked.stdout)
    if checked.returncode or good is None:
        raise ReportError(f"{path} is not what {principal} has signed: {_last_line(checked)}")
    return Signer(principal, good["type"], good["fingerprint"])


def _run(action: str, *words: str, text: bytes = b"") -> subprocess.CompletedProcess[str]:
    program = shutil.which(PROGRAM)
    if program is None:
        raise ReportError(f"a signature needs {PROGRAM}, which is part of OpenSSH, and which is not installed here")
    purpose = [] if action == "find-principals" else ["-n", NAMESPACE]
    done = subprocess.run([program, "-Y", action, *purpose, *words], input=text, capture_output=True, check=False)
    out, error = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, error)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = f"{done.stdout}\n{done.stderr}".strip().splitlines()
    return lines[-1].strip().rstrip(".") if lines else f"{PROGRAM} ended with {done.returncode}"
