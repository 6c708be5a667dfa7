"""The processes of all ranks: they start together, get each request together, and are ended together."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..implementation.guard import Fault, Refused
from ..processes.command import python_command
from ..processes.connection import Connection
from ..processes.description import Description, PythonSide
from ..processes.remote_framework import from_wire, to_wire
from ..processes.survivors import kill_all

STORE = "SPEC_TESTS_STORE"  # the variable that names the file by which the ranks find each other
POLL_SECONDS = 0.5  # between looks for processes that have still to be killed
KILLED = 1 << 30  # the place among the failures of a rank that was killed because another has failed
RELEASE_SECONDS = 3.0  # for the other ranks to answer, or to fail too, after one has failed


class Ranks:
    """A process for each rank. If one is lost, or fails where others do not, all are replaced at the next request."""

    def __init__(self, text: str, folder: Path, names: list[str], world_size: int):
        self.command = python_command(text, folder, names, world_size)
        self.connections = [Connection(self.command) for _ in range(world_size)]
        self.pool = ThreadPoolExecutor(world_size, thread_name_prefix="rank")
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self.generation = 0  # how often the processes have been started
        self.timeout_seconds = 0.0  # of the next request; 0: the limit of --time-limit

    @property
    def imports_oracle(self) -> bool:
        return any(connection.imports_oracle for connection in self.connections)

    @property
    def confinement(self) -> str:
        """What keeps the processes from others, "" if the run does not ask for that. It is the same for all."""
        return self.connections[0].confinement

    @property
    def are_running(self) -> bool:
        return all(connection.process is not None for connection in self.connections)

    def start(self) -> tuple[Description, PythonSide]:
        """Start all processes, load the backend in each, and return what rank 0 says of it. Raise a Fault if one fails."""
        self.discard_process(Fault(""))
        self.folder = tempfile.TemporaryDirectory(prefix="spec_tests-ranks-")
        self.generation += 1
        for rank, connection in enumerate(self.connections):
            environment = {
                "OMP_NUM_THREADS": "1",  # as torchrun sets it: the ranks share the machine
                **self.command.environment,
                **{"RANK": str(rank), "LOCAL_RANK": str(rank)},
                STORE: str(Path(self.folder.name) / "store"),
            }
            connection.command = replace(self.command, environment=environment, shared=self.folder.name)
            connection.keeps_spare = False
        answers = self._run([connection.start for connection in self.connections])
        if faults := [answer for answer in answers if isinstance(answer, BaseException)]:
            self.discard_process(Fault(""))
            raise _choose(faults)
        description = self.connections[0].description
        assert description is not None
        assert description.python is not None
        return description, description.python

    def ask(self, name: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """Send a request that runs a function of the backend to each rank, and return the answer of each.

        Raise Refused if all refuse. Raise a Fault if one fails; unless all fail alike, the processes are replaced.
        """
        for connection in self.connections:
            connection.timeout_seconds = self.timeout_seconds
            connection.calls += 1
        steps = [
            (lambda connection=connection, sent=sent: from_wire(connection, connection.run(name, *to_wire(connection, sent))))
            for connection, sent in zip(self.connections, arguments, strict=True)
        ]
        answers = self._run(steps)
        failures = {rank: answer for rank, answer in enumerate(answers) if isinstance(answer, BaseException)}
        if not failures:
            return answers
        kinds = {(type(answer), getattr(answer, "raised", None)) for answer in answers}
        is_lost = not self.are_running or any(getattr(failure, "lost", False) for failure in failures.values())
        if len(failures) == len(answers) and len(kinds) == 1 and not is_lost:
            raise failures[0]
        self.discard_process(Fault(""))
        raise _describe(failures, len(answers))

    def _run(self, steps: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run one step for each rank at once. Return what each returned or raised, and note which failed first.

        Once one has failed, the others may wait for it for ever: those that do not end within RELEASE_SECONDS are killed.
        """
        futures: list[Future[Any]] = [self.pool.submit(step) for step in steps]
        pending, order = set(futures), list[Future[Any]]()
        try:
            while pending:
                released = any(future.exception() for future in order)
                done, pending = wait(pending, RELEASE_SECONDS if released else None, FIRST_COMPLETED)
                order += sorted(done, key=futures.index)
                if not done:
                    self._kill(futures, pending)
                    break
        except BaseException:  # the user interrupts the run
            self._kill(futures, pending)
            raise
        place = {future: number for number, future in enumerate(order)}
        answers = [future.exception() or future.result() for future in futures]
        for future, answer in zip(futures, answers, strict=True):
            if isinstance(answer, BaseException):
                answer.order = place.get(future, KILLED)  # type: ignore[attr-defined]
        return answers

    def _kill(self, futures: list[Future[Any]], pending: set[Future[Any]]) -> None:
        """Kill the processes of the ranks that have not ended their step. The thread of each notes that."""
        while pending:
            for future, connection in zip(futures, self.connections, strict=True):
                if future in pending and (process := connection.process) is not None:
                    kill_all(process.child)
            _, pending = wait(pending, POLL_SECONDS)

    def discard_process(self, fault: Fault) -> Fault:
        """End the processes of all ranks, with all that was queued for them. Return the fault, for the caller to raise."""
        for connection in self.connections:
            connection.discard_process(fault)
        if self.folder is not None:
            self.folder.cleanup()
            self.folder = None
        return fault

    def close(self) -> None:
        self.discard_process(Fault(""))


def _choose(failures: list[BaseException]) -> BaseException:
    """Return the failure to report: of a process that has ended if there is one, else the first. The others may only follow."""
    first = sorted(failures, key=lambda failure: getattr(failure, "order", 0))
    if unexpected := [x for x in first if not isinstance(x, Fault | Refused)]:
        return unexpected[0]
    own = [x for x in first if getattr(x, "order", 0) < KILLED]
    if getattr(own[0], "timed_out", False):  # which rank's time is over first is chance
        return next(x for x in failures if getattr(x, "timed_out", False))
    return next((x for x in own if getattr(x, "lost", False)), own[0])


def _describe(failures: dict[int, BaseException], world_size: int) -> BaseException:
    """Return the failure to report, with its rank, and with the lines in which the other ranks were."""
    failure = _choose([*failures.values()])
    rank = next(number for number, other in failures.items() if other is failure)
    replaced = ("therefore", "the processes of all ranks are replaced")
    if isinstance(failure, Refused):
        return Fault(f"rank {rank} refuses a call that other ranks do not ({failure})", [replaced])
    if not isinstance(failure, Fault):
        return failure
    facts = [("rank", f"{rank} of {world_size}"), *failure.facts]
    for number, other in failures.items():
        if number != rank and isinstance(other, Fault) and other.timed_out:
            facts += [(f"rank {number}", place) for label, place in other.facts if label == "where"]
    return Fault(failure.what, [*facts, replaced], raised=failure.raised, timed_out=failure.timed_out, lost=failure.lost)
