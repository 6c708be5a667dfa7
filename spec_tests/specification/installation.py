"""The line that installs an optional dependency of the suite, from where the suite itself was installed."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "spec-tests"


def install_line(extra: str) -> str:
    """Return the command that installs an extra: of the checkout or wheel that the suite comes from, else of its name."""
    origin = find_origin()
    place = unquote(urlsplit(origin["url"]).path) if origin.get("url", "").startswith("file:") else DISTRIBUTION
    is_editable = origin.get("dir_info", {}).get("editable", False)
    return shlex.join(["pip", "install", *(["-e"] if is_editable else []), f"{place}[{extra}]"])


def find_origin() -> dict[str, Any]:
    """Return where pip has installed the suite from, {} if that is an index, or if nothing was installed."""
    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    found: dict[str, Any] = json.loads(text) if text else {}
    return found
