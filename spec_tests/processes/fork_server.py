"""The process from which ranks are forked. It imports the framework once, and has no thread and no device of its own.

It runs in a process of its own, beside those of the ranks, and like them has neither the equations nor anything that judges.
A request is a message of JSON, with descriptors where it forks; each has one answer.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import os
import socket
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ..implementation.framework import Framework
from ..implementation.lookup import registered_backends
from .own_process import die_with_the_parent
from .python_server import main as serve_backend
from .survivors import adopt_orphans, kill_orphans

MAX_REQUEST_BYTES = 1 << 20
DESCRIPTORS = 2  # of a new process: its channel, and where it prints
THREADS = Path("/proc/self/task")


def main(modules: Sequence[str]) -> None:
    """Import the modules, the framework first, say how many threads there are then, and answer requests until they end."""
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    die_with_the_parent()
    adopt_orphans()
    for module in modules:
        with suppress(Exception):  # the process of a rank meets it again, and tells it
            importlib.import_module(module)
    with suppress(Exception):
        Framework(modules[0])  # which imports what its arrays need
    registered_backends()  # which are looked for once
    gc.collect()
    gc.freeze()  # so that a collection in one rank copies no memory
    answer(control, {"threads": len(os.listdir(THREADS))})
    running: set[int] = set()
    while True:
        text, sent, *_ = control.recvmsg(MAX_REQUEST_BYTES, socket.CMSG_LEN(DESCRIPTORS * array.array("i").itemsize))
        if not text:
            os._exit(0)
        request = json.loads(text)
        if "status" in request:
            answer(control, {"status": find_status(request["status"], running)})
            continue
        descriptors = [number for *_, data in sent for number in array.array("i", data)]
        child = os.fork()
        if child == 0:
            control.close()
            become_rank(request["environment"], request["options"], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        running.add(child)
        answer(control, {"process": child})


def answer(control: socket.socket, said: dict[str, Any]) -> None:
    control.send(json.dumps(said).encode())


def find_status(child: int, running: set[int]) -> int | None:
    """Return the exit status of a process, as `subprocess` states it, and forget the process; None while it runs."""
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        return None
    running.discard(child)
    kill_orphans(running)
    return os.waitstatus_to_exitcode(status)


def become_rank(environment: dict[str, str], options: dict[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Be the process of a rank in this new process, and end."""
    try:
        os.setsid()
        channel, output = descriptors
        for number, descriptor in enumerate((channel, channel, output)):
            os.dup2(descriptor, number)
        for descriptor in descriptors:
            os.close(descriptor)
        os.environ.update(environment)
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()  # what is drawn without a seed differs between processes
        sys.path[:] = options.pop("path")
        serve_backend(**options)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)
