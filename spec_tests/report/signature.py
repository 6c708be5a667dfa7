"""Signatures of reports, by ssh-keygen: who has an SSH key can sign, and who has its public key can check.

The hash in a report shows that it was changed by accident. Who forges a report can compute it again, and cannot sign it.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from . import DATA, ReportError, read

PROGRAM = "ssh-keygen"
NAMESPACE = "spec-tests-report"  # a signature holds for this purpose alone
SUFFIX = ".sig"


def sign(report: str, key: Path) -> Path:
    """Sign the data of a report that is finished with a private key, or the public key of one in ssh-agent. Return the file."""
    data = _find_data(report)
    if not read(data).footer:
        raise ReportError(f"{data} is not finished, and only a finished report is signed; --resume finishes it")
    file = data.with_name(data.name + SUFFIX)
    file.unlink(missing_ok=True)  # ssh-keygen would ask
    done = _run("sign", "-f", str(key), str(data))
    if done.returncode:
        raise ReportError(f"{data} cannot be signed with {key}: {_last_line(done)}")
    return file


def verify(report: str, signers: Path) -> str:
    """Return who has signed the data of a report, of the signers that a file allows. Raise ReportError if nobody has.

    The file has a line for each signer, a name followed by the public key, as `ssh-keygen` describes under ALLOWED SIGNERS.
    """
    data = _find_data(report)
    file = data.with_name(data.name + SUFFIX)
    if not file.exists():
        raise ReportError(f"{data} has no signature: there is no {file.name} beside it")
    if not signers.exists():
        raise ReportError(f"there is no file {signers}; it has a line for each signer: a name, and the public key")
    found = _run("find-principals", "-s", str(file), "-f", str(signers))
    if found.returncode:
        raise ReportError(f"{data} is signed by nobody whom {signers} names: {_last_line(found)}")
    signer = found.stdout.splitlines()[0]
    checked = _run("verify", "-f", str(signers), "-I", signer, "-s", str(file), text=data.read_bytes())
    if checked.returncode:
        raise ReportError(f"{data} is not what {signer} has signed: {_last_line(checked)}")
    return signer


def _find_data(report: str) -> Path:
    path = Path(report)
    return path / DATA if path.is_dir() else path


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
