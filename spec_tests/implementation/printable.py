"""Text from elsewhere, made harmless: what a backend is called and what it raises may be anything."""

from __future__ import annotations

import re
import unicodedata

MAX_CHARACTERS = 4000  # characters of one message; the data have the rest
SHOWN_AS_CODES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str, longest: int = MAX_CHARACTERS) -> str:
    """Terminal colours are dropped; other controls, the marks that turn the direction of text, and what Unicode does not assign
    are shown as their codes; what is very long is cut."""
    cut = len(text) - longest
    text = text[:longest] if cut > 0 else text
    text = re.sub(r"\x1b\[[0-9;:]*m", "", text)
    if not text.isprintable():
        text = "".join(c if c in "\n\t" or unicodedata.category(c) not in SHOWN_AS_CODES else _code(c) for c in text)
    return f"{text} … ({cut} more characters: see the data)" if cut > 0 else text


def _code(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"
