"""How a server is started: by a text after `process:`, by a file that names the command, or as the suite's own for Python."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..implementation.environment import environment_of
from ..implementation.lookup import BackendError, built_in_backends, split_file
from ..implementation.search_path import backend_path
from ..importers import cs336, find_opener
from ..specification.run_settings import current_settings
from .python_server import WORLD_SIZE
from .supervisor import START_TIMEOUT_SECONDS

PREFIX = "process:"  # before a command
SUFFIXES = (".toml", ".json")  # of a file that names a command
START_CODE = """
import json, sys
options = json.loads(sys.argv[1])
sys.path[:] = options.pop("path")
from spec_tests.processes.python_server import main
main(**options)
"""
OF_THIS_PYTHON = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")  # variables that another Python must not get
KEYS = ("command", "folder", "environment", "start_seconds", "name")  # of such a file


@dataclass(frozen=True)
class ServerCommand:
    """How a server is started."""

    words: tuple[str, ...]
    folder: Path  # in which it is started, and from which a relative path of its program counts
    name: str  # what the report calls it
    environment: dict[str, str] = field(default_factory=dict)
    start_seconds: float = START_TIMEOUT_SECONDS  # to start and to describe itself
    is_python: bool = False  # whether it is the suite's own server for Python, which looks after its process itself
    shared: str = ""  # the folder that it shares with other ranks

    @property
    def shell_text(self) -> str:
        """The command as a shell takes it, in any folder."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join(["cd", shlex.quote(str(self.folder)), "&&", *variables, shlex.join(self.words)])

    @property
    def file(self) -> Path | None:
        """The file of the implementation: the first argument that is a file, as of an interpreter, or else the program."""
        files = [path for word in self.words[1:] if (path := self.folder / word).is_file()]
        if files:
            return files[0]
        found = shutil.which(self._program)
        return Path(found) if found else None

    @property
    def _program(self) -> str:
        return str(self.folder / self.words[0]) if "/" in self.words[0] else self.words[0]


def python_command(text: str, folder: Path, names: Collection[str], world_size: int | None = None) -> ServerCommand:
    """Return the command of the suite's own server, for the backend that --backend=text names, with these functions.

    world_size is the number of ranks of a backend whose ranks are devices of its process, which has it as WORLD_SIZE.
    """
    options = {
        "path": backend_path(),
        "text": text,
        "folder": str(folder),
        "names": [*names],
        "memory": current_settings().limits.memory,
        "device": current_settings().device,
    }
    environment = environment_of(text, folder) | ({} if world_size is None else {WORLD_SIZE: str(world_size)})
    words = (sys.executable, "-u", "-c", START_CODE, json.dumps(options))
    return ServerCommand(words, folder, text, environment, is_python=True)


def other_python_command(text: str, folder: Path, python: tuple[str, ...]) -> ServerCommand:
    """Return the command of the server for the backend that --backend=text names, in another Python.

    Raise BackendError if the text names what another Python cannot load.
    """
    file, attribute = split_file(text)
    built_in = built_in_backends().get(text)
    is_module = all(part.isidentifier() for part in text.partition(":")[0].split("."))
    if not (file or built_in or is_module) or find_opener(folder / text) is not None:
        raise BackendError(f"--backend={text}: --python loads a .py file or a module, and this is neither; leave --python out")
    if file and not (folder / file).is_file():
        raise BackendError(f"--backend={text}: there is no file {folder / file}")
    name = built_in.stem.replace("_", "-") if built_in else Path(file or text.partition(":")[0]).stem
    name += f":{attribute}" if attribute else ""
    options = {
        "text": text,
        "name": name,
        "folder": str(folder),
        "file": str(built_in or folder / file) if built_in or file else None,
        "attribute": attribute or ("" if file else text.partition(":")[2]),
        "adapters": str(Path(cs336.__file__)),
        "device": current_settings().device,
        "install": "uv add" if Path(python[0]).stem == "uv" else f"{shlex.join(python)} -m pip install",
        "memory": current_settings().limits.memory,
    }
    words = (*python, "-u", str(Path(__file__).with_name("standalone_server.py")), json.dumps(options))
    environment = {**dict.fromkeys(OF_THIS_PYTHON, ""), **environment_of(text, folder)}
    return ServerCommand(words, folder, name, environment, is_python=True)


def names_process(text: str) -> bool:
    """Whether a value of --backend names a process. A file of another format, which an importer opens, does not."""
    return text.startswith(PREFIX) or (text.endswith(SUFFIXES) and find_opener(Path(text)) is None)


def parse_command(text: str, folder: Path) -> ServerCommand:
    """Return the command that --backend=text names. Raise BackendError, whose text is one sentence."""
    try:
        stated = {"command": text.removeprefix(PREFIX)} if text.startswith(PREFIX) else _read_file(folder / text)
        command = _build(stated, folder if text.startswith(PREFIX) else (folder / text).parent)
    except ValueError as error:
        raise BackendError(f"--backend={text}: {error}") from None
    if shutil.which(command._program) is None:
        where = f"in {command.folder}" if "/" in command.words[0] else "on the PATH"
        raise BackendError(f"--backend={text}: there is no program {command.words[0]} {where}; build it, or give its path")
    return command


def _read_file(path: Path) -> Any:
    """Return the content of the file. Raise ValueError, whose text is a clause."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    try:
        return tomllib.loads(data.decode()) if path.suffix == ".toml" else json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no {path.suffix[1:].upper()} ({error})") from None


def _build(stated: Any, folder: Path) -> ServerCommand:
    """Return the command that the content of a file states. Raise ValueError, whose text is a clause."""
    if not isinstance(stated, dict) or not stated.get("command"):
        raise ValueError('it names no command; write command = "./my_server" in the file, or --backend="process:./my_server"')
    for key in stated.keys() - set(KEYS):
        raise ValueError(f"it has the key {key!r}; there are {', '.join(KEYS)}")
    command, environment = stated["command"], stated.get("environment", {})
    words = shlex.split(command) if isinstance(command, str) else command
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ValueError("its command is a text, or a list of texts")
    if not isinstance(environment, dict) or not all(isinstance(value, str) for value in environment.values()):
        raise ValueError("its environment is a table of texts")
    seconds = stated.get("start_seconds", START_TIMEOUT_SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
        raise ValueError("its start_seconds is a positive number of seconds")
    if not all(isinstance(stated.get(key, ""), str) for key in ("folder", "name")):
        raise ValueError("its folder and its name are texts")
    folder = (folder / stated.get("folder", "")).absolute()
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    unnamed = ServerCommand(tuple(words), folder, "", environment, float(seconds))
    name = stated.get("name") or (unnamed.file or Path(words[0])).stem
    return ServerCommand(tuple(words), folder, name, environment, float(seconds))
