"""The files that publish one signed report: its page, its badges, the report itself, its signature, and who may sign."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ..report import BADGE, DATA
from ..report.badge import Badge, build_badge, format_badge
from ..report.page import render_page
from ..report.signature import NAMESPACE, PROGRAM, SUFFIX
from ..report.template import render
from .signed_report import SignedReport

FOLDER = Path(__file__).parent
INDEX, PICTURE, SIGNERS, SIGNATURE = "index.html", "badge.svg", "allowed_signers", DATA + SUFFIX
COLOURS = MappingProxyType({"good": "#2e7d32", "bad": "#b4232a", "open": "#6b7280"})  # of a badge; white text is readable on each
CHARACTER, MARGIN = 6.6, 12.0  # pixels: the width of a character of the badge, and what is beside a text


@dataclass(frozen=True)
class Publication:
    """What the published page says beside the report: who has signed it, and how anybody can check that."""

    signed: SignedReport

    @property
    def ssh_command(self) -> str:
        """The command that checks the signature with ssh-keygen alone."""
        words = (PROGRAM, "-Y", "verify", "-f", SIGNERS, "-I", self.signed.signer.principal, "-n", NAMESPACE, "-s", SIGNATURE)
        return f"{shlex.join(words)} < {DATA}"

    @property
    def suite_command(self) -> str:
        """The command that checks the signature, and that every file is made of the report."""
        return f"spec-tests publish . --check --signers={SIGNERS}"


def build_files(signed: SignedReport, signers: bytes) -> dict[str, bytes]:
    """Return the files of the published folder, by their names. The same report and signers give the same bytes."""
    results = signed.results
    return {
        INDEX: render_page(results, "published.html", FOLDER, publication=Publication(signed)).encode(),
        BADGE: format_badge(results).encode(),
        PICTURE: draw_badge(build_badge(results)).encode(),
        DATA: signed.data,
        SIGNATURE: signed.signature,
        SIGNERS: signers,
    }


def draw_badge(badge: Badge) -> str:
    """Return the badge as a picture, for pages that show no picture of another host."""
    left, right = (round(CHARACTER * len(text) + MARGIN) for text in (badge.label, badge.message))
    return render(PICTURE, FOLDER, badge=badge, left=left, right=right, margin=MARGIN, colour=COLOURS[badge.tone])
