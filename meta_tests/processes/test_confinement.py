"""Test that the process of a backend is kept from its judge: what a confined process can do, and what becomes of a score."""

import ctypes
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import spec_tests
from spec_tests.processes.confinement import Launch, hidden_from_others
from spec_tests.processes.launcher import Confinement, Refused

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the confinement is made of what Linux has")
NAMESPACE = "process namespace"
WITHOUT_NAMESPACES = 'echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_pid_namespaces; exec "$@"'


IN_NEW_USERS = ("unshare", "-Urm", "sh", "-c")


def start(folder: Path, body: str, *before: str, shared: str = "") -> tuple[subprocess.Popen[str], list[str]]:
    """Start a confined program, and return it with what is in force. What is run `before` starts the launcher."""
    launch = Launch([sys.executable, "-c", textwrap.dedent(body)], {"MINE": "1"}, folder, shared=shared)
    words = [*before, *launch.command]
    process = subprocess.Popen(words, cwd=folder, pass_fds=[launch.inherited], stdout=subprocess.PIPE, text=True)
    return process, list(launch.read().in_force)


def run(folder: Path, body: str, *before: str, shared: str = "") -> tuple[str, int, list[str]]:
    process, in_force = start(folder, body, *before, shared=shared)
    text = process.communicate(timeout=120)[0]
    return text.strip(), process.returncode, in_force


def needs(in_force: list[str], *steps: str) -> None:
    if missing := [step for step in steps if not any(text.startswith(step) for text in in_force)]:
        pytest.skip(f"this system does not allow: {', '.join(missing)}")


def needs_unshare() -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this system does not let a test make namespaces")


ATTACKS = {  # each prints "done" if it succeeds
    "signals the judge": f"import os; os.kill({os.getpid()}, 0); print('done')",
    "signals every process": "import os; os.kill(-1, 0); print('done')",
    "reads command lines": "from pathlib import Path\nif len([*Path('/proc').glob('[0-9]*/cmdline')]) > 2: print('done')",
    "reads an environment": f"open('/proc/{os.getpid()}/environ', 'rb').read(); print('done')",
    "opens the judge's memory": f"open('/proc/{os.getpid()}/mem', 'r+b'); print('done')",
    "lists the judge's files": f"import os; os.listdir('/proc/{os.getpid()}/fd'); print('done')",
    "writes into a library": "import os; open(os.__file__, 'r+'); print('done')",
    "writes into the suite": f"open({spec_tests.__file__!r}, 'r+'); print('done')",
    "changes a library": "import os; os.chmod(os.__file__, os.stat(os.__file__).st_mode); print('done')",
    "mounts it anew": """
        import ctypes, os
        libc = ctypes.CDLL(None)
        libc.unshare(0x10020000)
        if libc.mount(b"none", os.path.dirname(os.__file__).encode(), None, 4128, None) == 0: print("done")
        """,
    "takes the first process of the namespace": "import os; os.kill(1, 9); print(*['done'] * (not os.path.exists('/proc/1')))",
    "traces the first process of the namespace":
        "import ctypes; print(*['done'] * (ctypes.CDLL(None).ptrace(16, 1, None, None) == 0))",
    "gains privileges": "import os; os.setuid(12345); print('done')",
    "writes to the system": "open('/etc/of_the_test', 'w'); print('done')",
    "opens the system's settings": "import os; os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY); print('done')",
    "opens a disk": """
        import os, stat
        for entry in os.scandir("/dev"):
            if stat.S_ISBLK(entry.stat(follow_symlinks=False).st_mode):
                os.close(os.open(entry.path, os.O_WRONLY))
                print("done")
        """,
}  # fmt: skip
NEEDED = {
    "writes to the system": "read-only system",
    "opens the system's settings": "read-only system",
    "opens a disk": "Landlock",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_confined_process_reaches_nothing_of_its_judge(tmp_path: Path, attack: str) -> None:
    text, _, in_force = run(tmp_path, ATTACKS[attack])
    needs(in_force, NEEDED.get(attack, NAMESPACE))
    assert text == ""


def test_the_attacks_succeed_without_confinement(tmp_path: Path) -> None:
    for attack in ("signals the judge", "reads command lines", "reads an environment", "lists the judge's files"):
        done = subprocess.run([sys.executable, "-c", ATTACKS[attack]], capture_output=True, text=True, check=False)
        assert done.stdout == "done\n", attack


CONNECTS = """
    import socket, sys
    for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_UNIX, {path!r}), (socket.AF_UNIX, {abstract!r})):
        try:
            socket.socket(family).connect(address)
            print(family.name)
        except OSError:
            pass
    """


@pytest.fixture
def sockets(tmp_path: Path) -> Iterator[str]:
    """Three sockets that listen outside, and a program that connects to them and prints which it could."""
    addresses = {"path": str(tmp_path / "socket"), "abstract": f"\0{tmp_path}"}
    with socket.create_server(("127.0.0.1", 0)) as tcp, ExitStack() as stack:
        for address in addresses.values():
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        yield CONNECTS.format(port=tcp.getsockname()[1], **addresses)


def test_it_reaches_no_socket_of_others(tmp_path: Path, sockets: str) -> None:
    text, _, in_force = run(tmp_path, sockets)
    needs(in_force, NAMESPACE, "no network", "copies of its folders")
    assert text == ""
    assert run(tmp_path, sockets, shared=str(tmp_path))[0].split() == ["AF_INET", "AF_UNIX", "AF_UNIX"]  # as a rank may


def test_it_reaches_no_socket_of_a_service(tmp_path: Path) -> None:
    path = Path("/run") / f"{tmp_path.name}.socket"
    try:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
    except OSError:
        pytest.skip("/run cannot be written to here")
    try:
        listener.listen()
        body = f"import socket\nsocket.socket(socket.AF_UNIX).connect({str(path)!r})\nprint('done')"
        text, _, in_force = run(tmp_path, body)
    finally:
        listener.close()
        path.unlink()
    needs(in_force, "no sockets of services")
    assert text == ""


def test_it_finds_no_shared_memory_of_others(tmp_path: Path) -> None:
    libc, key = ctypes.CDLL(None), secrets.randbits(30) | 1
    segment = libc.shmget(key, 100, 0o1600)
    if segment < 0:
        pytest.skip("this system has no shared memory of System V")
    try:
        body = f"import ctypes\nprint(ctypes.CDLL(None).shmget({key}, 0, 0) < 0)"
        text, _, in_force = run(tmp_path, body)
    finally:
        libc.shmctl(segment, 0, None)
    needs(in_force, "no shared memory of others")
    assert text == "True"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes another user")
def test_root_becomes_another_user(tmp_path: Path) -> None:
    body = f"""
        import os, sys
        sys.path.append({str(Path(spec_tests.__file__).parents[1])!r})
        from spec_tests.processes.launcher import Refused, become_nobody
        try:
            become_nobody([{str(tmp_path / "closed")!r}])
        except Refused as reason:
            print(reason)
        become_nobody(["/"])
        print(os.getuid(), os.getgid(), os.getgroups())
        """
    (tmp_path / "closed").mkdir(mode=0o700)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(body)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["another user could not read the backend and the libraries", "65534 65534 []"]


def test_it_has_a_network_of_its_own(tmp_path: Path) -> None:
    body = "import socket\nwith socket.create_server(('127.0.0.1', 0)) as s: socket.create_connection(s.getsockname()); print(1)"
    text, _, in_force = run(tmp_path, body)
    needs(in_force, "no network")
    assert text == "1"


WRITES = """
    import os
    from pathlib import Path
    Path("read").write_text(Path("read").read_text() + " changed")
    for folder in (".", os.environ["TMPDIR"], os.path.expanduser("~")):
        (Path(folder) / "new").write_text("new")
    os.rename("read", "moved")
    print(Path("moved").read_text(), os.environ["MINE"], *os.listdir("/dev/shm"))
    """


def test_what_it_writes_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes to its folder, to that of temporary files and to the user's, and all is as before when it has ended."""
    for name, variable in (("home", "HOME"), ("temporary", "TMPDIR")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "read").write_text("old")
    before = sorted(tmp_path.rglob("*"))
    text, status, in_force = run(folder, WRITES)
    needs(in_force, "copies of its folders", "no shared memory of others")
    assert (text, status) == ("old changed 1", 0)
    assert sorted(tmp_path.rglob("*")) == before
    assert (folder / "read").read_text() == "old"


def test_a_rank_shares_one_folder_with_the_others_and_none_with_the_judge(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    text, status, in_force = run(tmp_path, "open('mine', 'w'); open('store/mine', 'w')", shared=str(tmp_path / "store"))
    needs(in_force, "read-only system", "copies of its folders")
    assert (text, status) == ("", 0)
    assert (tmp_path / "store" / "mine").exists()
    assert not (tmp_path / "mine").exists()


def test_a_mount_in_its_folder_is_there(tmp_path: Path) -> None:
    needs_unshare()
    (tmp_path / "inner").mkdir()
    mounts = 'mount -t tmpfs none inner && echo there > inner/file && exec "$@"'
    body = "from pathlib import Path\nPath('inner/new').write_text('new')\nprint(Path('inner/file').read_text())"
    text, status, in_force = run(tmp_path, body, *IN_NEW_USERS, mounts, "sh")
    needs(in_force, "read-only system")
    assert (text, status) == ("there", 0)
    assert "copies of its folders" not in in_force


def test_landlock_holds_where_namespaces_are_forbidden(tmp_path: Path, sockets: str) -> None:
    needs_unshare()
    (tmp_path / "outside").mkdir()
    outside = Path("/opt") if os.access("/opt", os.W_OK) else Path("/srv")
    attacks = [sockets, ATTACKS["signals the judge"], ATTACKS["opens the judge's memory"], f"open('{outside}/of_the_test', 'w')"]
    for attack in attacks:
        text, _, in_force = run(tmp_path, attack, *IN_NEW_USERS, WITHOUT_NAMESPACES, "sh")
        needs(in_force, "Landlock (files, TCP, signals, abstract sockets)")
        assert NAMESPACE not in in_force
        assert text == ("AF_UNIX" if attack is sockets else "")  # the one that has a path
    assert not (outside / "of_the_test").exists()
    assert run(tmp_path, "open('mine', 'w')", *IN_NEW_USERS, WITHOUT_NAMESPACES, "sh")[1] == 0
    assert (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("import sys; sys.exit(3)", 3),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
    ],
)
def test_its_end_is_that_of_the_backend(tmp_path: Path, body: str, status: int) -> None:
    assert run(tmp_path, body)[1] == status


def test_an_abort_from_outside_reaches_it(tmp_path: Path) -> None:
    body = "import signal, sys, time\nsignal.signal(6, lambda *a: sys.exit(7))\nprint('ready', flush=True)\ntime.sleep(600)"
    process, _ = start(tmp_path, body)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGABRT)
    assert process.returncode == 7


def test_what_it_has_started_ends_with_it(tmp_path: Path) -> None:
    """A daemon without a parent, a session or an environment of before holds the pipe open until it ends."""
    daemon = "import os\nif os.fork() == 0:\n    os.setsid()\n    os.execve('/bin/sleep', ['sleep', '600'], {})"
    _, status, in_force = run(tmp_path, daemon)
    needs(in_force, NAMESPACE)
    assert status == 0


def test_a_step_that_is_refused_is_named() -> None:
    confinement = Confinement()

    def refuse() -> None:
        raise Refused("Operation not permitted")

    assert not confinement.attempt("another user", refuse)
    assert confinement.attempt("no capabilities", lambda: None)
    assert (confinement.in_force, confinement.dropped) == (["no capabilities"], ["another user (Operation not permitted)"])


def test_a_hidden_process_is_dumpable_again() -> None:

    prctl = ctypes.CDLL(None).prctl
    before = prctl(3, 0, 0, 0, 0)
    with hidden_from_others():
        assert prctl(3, 0, 0, 0, 0) == 0
    assert prctl(3, 0, 0, 0, 0) == before


# --- scores -----------------------------------------------------------------------------------------------------------

FORGES = '''
import json, os, signal
from hashlib import sha256
from pathlib import Path

SEALED = {"record": "footer", "complete": True, "reason": "finished", "exit_status": 0}


def forge():
    """Write a sealed report wherever one may be read, plant modules, and end the process that judges."""
    lines = json.dumps({"record": "header", "schema": 1}) + "\\n"
    data = lines + json.dumps({**SEALED, "sha256": sha256(lines.encode()).hexdigest()}) + "\\n"
    for path in find_reports():
        try:
            path.write_text(data)
        except (OSError, ValueError):
            pass
    for name in ("jinja2", "json", "sitecustomize", "spec_tests"):
        Path(f"{name}.py").write_text("import os; os._exit(0)")
    if KILLS:
        os.kill(os.getppid(), signal.SIGKILL)


def find_reports():
    """Yield what may be a report of the two processes above this one, and of no other run on the machine."""
    process, own = os.getpid(), Path(os.environ["TMPDIR"]).resolve()
    for _ in range(2):
        try:
            process = int((Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
            files = [*(Path("/proc") / str(process) / "fd").iterdir()] if process > 1 else []
            yield from (file for file in files if os.readlink(file).startswith("/memfd:report"))
            words = (Path("/proc") / str(process) / "cmdline").read_bytes().decode().split("\\0")
        except OSError:
            continue
        folders = [Path(word.rpartition("=")[2]).resolve() for word in words if "report" in word]
        yield from (folder / "report.jsonl" for folder in folders if folder.is_relative_to(own))
    yield from own.glob("**/report.jsonl")
'''
ZEROS = """
def rms_norm(x, weight, *, eps):
    forge()
    return np.zeros_like(x)
"""


@pytest.mark.rotating
@pytest.mark.slow
@pytest.mark.parametrize("kills", [False, True], ids=["forges", "forges and kills"])
def test_a_forger_scores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: bool) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # the kernel forges nothing outside of it
    (tmp_path / "kernel.py").write_text(f"{NUMPY}{FORGES}\nKILLS = {kills}\n{ZEROS}")
    found = spec_tests.score("kernel.py", "rms_norm", effort="smoke", seed=5, time_limit=20)
    assert found.value == 0
    assert found.confinement
    if "copies of its folders" in found.confinement:
        assert [path.name for path in tmp_path.iterdir()] == ["kernel.py"]


@pytest.mark.rotating
@pytest.mark.slow
def test_a_system_without_namespaces_says_so(tmp_path: Path) -> None:
    """The kernel is judged as elsewhere, and what protects less is printed. One that kills the judge scores nothing."""
    needs_unshare()
    (tmp_path / "kernel.py").write_text(f"{NUMPY}open('imports', 'a').write('once ')\n{EPS_OUTSIDE}")
    (tmp_path / "kills.py").write_text(f"{NUMPY}{FORGES}\nKILLS = True\n{ZEROS}")
    found = {}
    for name in ("kernel.py", "kills.py"):
        words = ["-m", "spec_tests", "score", name, "rms_norm", "--effort=smoke", "--seed=5", "--json"]
        command = ["unshare", "-Ur", "sh", "-c", WITHOUT_NAMESPACES, "sh", sys.executable, *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(TMPDIR=str(tmp_path)), capture_output=True, text=True, check=False
        )
        found[name] = json.loads(done.stdout)
    assert 0 < found["kernel.py"]["value"] <= 0.25
    assert (tmp_path / "imports").read_text() == "once "
    assert f"not on this system: {NAMESPACE}" in found["kernel.py"]["confinement"]
    assert "another user (Operation not permitted)" in found["kernel.py"]["confinement"]
    assert found["kills.py"]["value"] == 0
