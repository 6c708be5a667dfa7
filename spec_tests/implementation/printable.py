"""Make text from a backend safe to print: its name and its error messages may hold any characters, and any number of them."""

from __future__ import annotations

import io
import re
import sys
import unicodedata

MAX_CHARACTERS = 4000  # characters of one message; the report's data hold all of it
CI_COMMAND = re.compile(r"^(?P<space>\s*):(?=:)|#(?=#\w*\[)", re.MULTILINE)  # GitHub; Azure, TeamCity
TORCH_ADVICE = re.compile(  # PyTorch appends it to each error of a device; this suite asks of each call by itself
    r"^(Search for `.*' in \S+ for more information|\w+ kernel errors might be asynchronously reported .*"
    r"|For debugging consider passing \w+=\d+|Compile with `TORCH_USE_\w+` to enable device-side assertions)\.?[^\S\n]*(\n|$)",
    re.MULTILINE,
)
TORCH_OVERLOADS = re.compile(r",? but expected one of:\s*\n \* .*", re.DOTALL)  # all forms in which a function can be called
ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # Unicode's general categories


def printable(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Return the text without terminal colours, with other invisible characters as escapes, and cut if it is too long.

    Control characters, marks that change the direction of text, and characters that Unicode does not assign are escaped.
    So is the first character of what CI systems read in a log as a command, such as ::error (GitHub) or ##vso[ (Azure Pipelines).
    """
    omitted = len(text) - max_characters
    text = text[:max_characters] if omitted > 0 else text
    text = re.sub(r"\x1b\[[0-9;:]*m", "", text)
    if not text.isprintable():
        text = "".join(c if c in "\n\t" or unicodedata.category(c) not in ESCAPED_CATEGORIES else _escape(c) for c in text)
    text = CI_COMMAND.sub(lambda found: "\\x23" if found["space"] is None else f"{found['space']}\\x3a", text)
    return f"{text} … ({omitted} more characters: see the data)" if omitted > 0 else text


def printable_line(text: str, max_characters: int = 200) -> str:
    """Return the text as `printable` does, in one line."""
    return " ".join(printable(text, max_characters).split())


def text_of(value: object) -> str:
    """Return the text of an object of the backend, whatever it does when it is asked for it."""
    try:
        return str(value)
    except BaseException as error:
        return f"whose text cannot be had: {type(error).__name__}"


def message_of(error: BaseException) -> str:
    """Return the message of an exception, safe to print, without what PyTorch appends: advice on a device, forms of a call."""
    text = text_of(error)
    shorter = TORCH_OVERLOADS.sub("", TORCH_ADVICE.sub("", text))
    return printable(text if shorter == text else shorter.rstrip())


def escape_unencodable() -> None:
    """Let stdout and stderr write an escape for a character that their encoding lacks, as on Windows or in the locale C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # else it is a stream of others, which may take every character
            stream.reconfigure(errors="backslashreplace")


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"
