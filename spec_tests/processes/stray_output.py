"""What a process has sent in place of an answer: text that it printed, or a length of the other byte order."""

from __future__ import annotations

import re

from .message import LENGTH, MAX_HEADER_BYTES

BEGINNING = re.compile(rb"[\s\S]{3}\0{5}\{")  # of a message: eight bytes of a length, then the header
TEXT = re.compile(rb"[\t\r\n\x1b -~]+")
HIGH = slice(3, LENGTH.size)  # the bytes of a length that are 0, as a header has at most 1 MiB
LOOKED_AT_BYTES = 4096  # of what follows the first bytes
SHOWN_BYTES = 80
SMALLEST_HEADER_BYTES = 2


def is_beginning(received: bytes) -> bool:
    """Whether these bytes begin as a message does: with the length of its header, and the first byte of that."""
    (size,) = LENGTH.unpack(received[: LENGTH.size])
    return bool(size <= MAX_HEADER_BYTES and received[LENGTH.size :].startswith(b"{"))


def is_decided(received: bytes) -> bool:
    """Whether the description of these bytes, which are no beginning of a message, stays the same if more follow.

    >>> is_decided(b"loading "), is_decided(b"loading " + bytes([2, 0, 0, 0, 0, 0, 0, 0]) + b"{}")
    (False, True)
    """
    return _is_in_other_order(received) or BEGINNING.search(received) is not None


def describe_beginning(received: bytes) -> str:
    """Return a clause that says what these bytes are, which do not begin as a message does."""
    (size,), begins = LENGTH.unpack(received[: LENGTH.size]), "a message begins with the length of its header"
    if _is_in_other_order(received):
        other = int.from_bytes(received[: LENGTH.size], "big")
        return f"the length of its header is {other} in big-endian order; lengths and elements are little-endian"
    if stray := find_stray(received):
        return f"it begins with {show(stray)}, which is {'text' if TEXT.fullmatch(stray) else 'no part of a message'}; {begins}"
    if size > MAX_HEADER_BYTES:
        return f"its header has {size} bytes; {begins}, at most {MAX_HEADER_BYTES}"
    return f"its header begins with {show(received[LENGTH.size :])}, not with {{"


def _is_in_other_order(received: bytes) -> bool:
    size = int.from_bytes(received[: LENGTH.size], "big")
    return SMALLEST_HEADER_BYTES <= size <= MAX_HEADER_BYTES and received[LENGTH.size :].startswith(b"{")


def find_stray(received: bytes) -> bytes:
    """Return what stands before the first message in these bytes, or the text that they begin with if they hold no message."""
    if message := BEGINNING.search(received):
        return received[: message.start()]
    text = TEXT.match(received)
    if text is None or received[HIGH] == bytes(5):
        return b""
    end = text.end() - (received[text.end() : text.end() + 1] == b"\0")  # the first byte of a length may be one of text
    return received[:end]


def show(data: bytes) -> str:
    """Return the bytes as a literal: of a text without a b, and not more than fit into a sentence."""
    shown = repr(data[:SHOWN_BYTES].decode("ascii") if TEXT.fullmatch(data) else data[:SHOWN_BYTES])
    return f"{shown} and {len(data) - SHOWN_BYTES} more bytes" if len(data) > SHOWN_BYTES else shown
