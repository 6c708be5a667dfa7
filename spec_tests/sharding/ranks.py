"""The processes of all ranks: they start together, get each request together, and are ended together."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..implementation.guard import Fault, Refused
from ..processes.activity import Activity
from ..processes.command import ServerCommand, python_command
from ..processes.connection import Connection
from ..processes.description import Description, PythonSide
from ..processes.forks import CannotFork, ForkServer, find_modules
from ..processes.remote_framework import from_wire, to_wire
from ..processes.survivors import kill_all

STORE = "SPEC_TESTS_STORE"  # the variable that names the file by which the ranks find each other
POLL_SECONDS = 0.5  # between looks for processes that have still to be killed
KILLED = 1 << 30  # the place among the failures of a rank that was killed because another has failed
RELEASE_SECONDS = 3.0  # for the other ranks to answer, or to fail too, after one has failed
IDLE_SECONDS = 0.15  # after which a rank that does nothing meanwhile is taken to wait for the one that has failed


class Ranks:
    """A process for each rank. If one is lost, or fails where others do not, all are replaced at the next request.

    Ranks that go on after one has failed could meet messages that were for an earlier call, and give wrong answers for it.
    """

    def __init__(self, text: str, folder: Path, names: list[str], world_size: int):
        self.command = python_command(text, folder, names, world_size)
        self.common_modules = find_modules(text, folder)
        self.fork_server: ForkServer | None = None
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
        environment_of_all = {"OMP_NUM_THREADS": "1", **self.command.environment}  # as torchrun sets it: they share the machine
        self._start_fork_server(replace(self.command, environment=environment_of_all))
        for rank, connection in enumerate(self.connections):
            environment = {
                **environment_of_all,
                **{"RANK": str(rank), "LOCAL_RANK": str(rank)},
                STORE: str(Path(self.folder.name) / "store"),
            }
            connection.command = replace(self.command, environment=environment, shared=self.folder.name)
            connection.keeps_spare, connection.fork_server = False, self.fork_server
        answers = self._run([connection.start for connection in self.connections])
        if faults := [answer for answer in answers if isinstance(answer, BaseException)]:
            self.discard_process(Fault(""))
            raise _choose(faults)
        description = self.connections[0].description
        assert description is not None
        assert description.python is not None
        return description, description.python

    def _start_fork_server(self, command: ServerCommand) -> None:
        """Start the process to fork the ranks from, if that is possible and it does not run."""
        if self.fork_server is not None and self.fork_server.is_running:
            return
        self.fork_server = None
        if self.common_modules is not None:
            try:
                self.fork_server = ForkServer(command, self.common_modules)
            except CannotFork:
                self.common_modules = None

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

        Once one has failed, the others may wait for it for ever: they are killed when all do nothing, or after RELEASE_SECONDS.
        """
        futures: list[Future[Any]] = [self.pool.submit(step) for step in steps]
        pending, order, activity = set(futures), list[Future[Any]](), Activity(RELEASE_SECONDS)
        try:
            while pending:
                released = any(future.exception() for future in order)
                if released and activity.has_ended(self._list_processes(futures, pending)):
                    self._kill(futures, pending)
                    break
                done, pending = wait(pending, IDLE_SECONDS if released else None, FIRST_COMPLETED)
                order += sorted(done, key=futures.index)
        except BaseException:  # the user interrupts the run
            self._kill(futures, pending)
            raise
        place = {future: number for number, future in enumerate(order)}
        answers = [future.exception() or future.result() for future in futures]
        for future, answer in zip(futures, answers, strict=True):
            if isinstance(answer, BaseException):
                answer.order = place.get(future, KILLED)  # type: ignore[attr-defined]
        return answers

    def _list_processes(self, futures: list[Future[Any]], pending: set[Future[Any]]) -> list[int]:
        """Return the numbers of the processes that have not ended their step."""
        pairs = zip(futures, self.connections, strict=True)
        return [process.child.pid for future, x in pairs if future in pending and (process := x.process) is not None]

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
        if self.fork_server is not None:
            self.fork_server.close()
            self.fork_server = None


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
    if all(isinstance(other, Fault) and other.timed_out for other in failures.values()) and len(failures) < world_size:
        return _describe_left_out(failure, failures, world_size, replaced)
    facts = [("rank", f"{rank} of {world_size}"), *failure.facts]
    for number, other in failures.items():
        if number != rank and isinstance(other, Fault) and other.timed_out:
            facts += [(f"rank {number}", place) for label, place in other.facts if label == "where"]
    return Fault(failure.what, [*facts, replaced], raised=failure.raised, timed_out=failure.timed_out, lost=failure.lost)


def _describe_left_out(
    failure: Fault, failures: dict[int, BaseException], world_size: int, replaced: tuple[str, str]
) -> BaseException:
    """Return the failure to report where some ranks have returned from the call, and the others have not in the time limit."""
    returned = [rank not in failures for rank in range(world_size)]
    waiting = [rank in failures for rank in range(world_size)]
    places = {rank: place for rank, other in failures.items() for label, place in getattr(other, "facts", []) if label == "where"}
    what = f"{failure.what}: {_name(returned)} returned, and {_name(waiting)} did not"
    if len(set(places.values())) == 1 and len(places) == len(failures):
        where = [("where", f"{next(iter(places.values()))}, which {_name(waiting)} did not leave")]
    else:
        where = [(f"rank {rank}", place) for rank, place in places.items()]
    others = [fact for fact in failure.facts if fact[0] != "where"]
    return Fault(what, [*where, *others, replaced], timed_out=True, lost=failure.lost)


def _name(which: Sequence[bool]) -> str:
    """Return the ranks for which it holds, in words.

    >>> _name([True, False, True]), _name([False, True, False])
    ('ranks 0 and 2', 'rank 1')
    """
    numbers = [str(rank) for rank, holds in enumerate(which) if holds]
    text = " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))
    return f"rank{'s' * (len(numbers) > 1)} {text}"
