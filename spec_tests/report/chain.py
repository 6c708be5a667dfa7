"""The chain of a report: each line has the SHA-256 of all bytes before it, which shows a change before the report is finished."""

from __future__ import annotations

import hashlib
import re
from typing import Any

MEMBER = "before"
ABOUT = "the SHA-256 of all bytes before this line"
PATTERN = "[0-9a-f]{64}"
_LINK = re.compile(rf', "{MEMBER}": "({PATTERN})"}}\n?$'.encode())


class Chain:
    """The links of the lines that are written."""

    def __init__(self) -> None:
        self._digest: Any = hashlib.sha256()
        self._is_empty = True

    def add(self, line: str) -> bytes:
        """Return the bytes of a line with its link. The first one has none."""
        link = "" if self._is_empty else f', "{MEMBER}": "{self.hash}"'
        data = f"{line.rstrip()[:-1]}{link}}}\n".encode("ascii")
        self._digest.update(data)
        self._is_empty = False
        return data

    @property
    def hash(self) -> str:
        """The hash of all that was written."""
        return str(self._digest.hexdigest())


def has_every_link(data: bytes) -> bool:
    """Whether each line but the first has a link, as older reports and those with a line that was put in do not."""
    return all(_LINK.search(line) for line in data.splitlines(keepends=True)[1:])


def is_whole(data: bytes) -> bool:
    """Whether each link in the data of a report is the hash of what is before it. Older reports have none."""
    digest = hashlib.sha256()
    for line in data.splitlines(keepends=True):
        link = _LINK.search(line)
        if link and link[1].decode() != digest.hexdigest():
            return False
        digest.update(line)
    return True
