"""Test backends that are processes: the servers in examples/ are judged as backends in Python are, broken ones as well."""

import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.guard import Fault
from spec_tests.processes.command import parse_command
from spec_tests.processes.connection import Connection

from ..support.paths import BACKENDS, DOCS, ROOT
from ..support.pytest_process import Run, complaints, environment, suite
from ..support.servers import EXAMPLES, SERVERS, Server

pytestmark = [pytest.mark.rotating, pytest.mark.xdist_group("processes/servers")]  # which share runs
PYTHON_SERVER = (EXAMPLES / "python" / "server.py").read_text()


def write_server(folder: Path, *changes: tuple[str, str]) -> str:
    """Write the server in Python with these changes, and return the value of --backend that starts it."""
    text = PYTHON_SERVER
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "server.py").write_text(text)
    return f"--backend=process:{shlex.quote(sys.executable)} server.py"


def write_file(folder: Path, name: str, command: str) -> str:
    """Write the file that names the command of a server, and return the value of --backend that names the file."""
    (folder / f"{name}.json").write_text(json.dumps({"command": command, "name": name}))
    return f"--backend={name}.json"


def describe_failures(run: Run, name: str) -> str:
    """Return what a run of several backends says of the causes on one of them, and the reasons of its failed tests."""
    causes = re.findall(r"^cause \d+: .*?^ *again: [^\n]*", run.text, re.MULTILINE | re.DOTALL)
    reasons = [fact["reason"] for fact in run.facts if fact["backend"] == name and fact["status"] == "failed"]
    return "\n".join([*(cause for cause in causes if f" --backend={name}.json " in cause), *reasons])


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, commands: dict[str, str]) -> Run:
    """Return one run on all examples whose tools are installed."""
    folder = tmp_path_factory.mktemp("examples")
    words = [write_file(folder, f"in_{language}", command) for language, command in commands.items()]
    return suite(folder, *words, "--effort=smoke", "--dtype=float32")


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.language)
def test_the_bug_of_an_example_is_named_and_nothing_else_fails(server: Server, examples: Run) -> None:
    server.skip_without_tools()
    name = f"in_{server.language}"
    facts = [fact for fact in examples.facts if fact["backend"] == name]
    assert {fact["operation"] for fact in facts if fact["status"] == "failed"} == {server.wrong}
    assert server.deviation in describe_failures(examples, name)
    assert len([fact for fact in facts if fact["status"] == "passed"]) > 10
    not_tried = examples.text.partition(f"= {name}: precision class reached")[2].partition("precision class reached")[0]
    assert "nothing tells how it uses memory" in " ".join(not_tried.split())  # laws about memory are not tried


def test_the_honest_operations_conform_at_default_effort(tmp_path: Path) -> None:
    run = suite(tmp_path, write_server(tmp_path), "--effort=default", "--require=relu,rms_norm", "-k", "relu or rms_norm")
    assert run.code == 0


CONFORM_IN_VERSION_1 = {
    "add_rms_norm", "causal_mask", "embedding", "linear", "parameter_count", "relu", "relu_vjp", "rms_norm", "softmax",
}  # fmt: skip


def test_a_server_of_version_1_works_as_it_did(tmp_path: Path) -> None:
    """It was written when there were no extensions, and answers `error` to anything that version 1 does not have."""
    server = shlex.join([sys.executable, str(BACKENDS / "servers" / "version_1.py")])
    run = suite(tmp_path, f"--backend=process:{server}", "--effort=smoke")
    assert run.code == 0, run.text
    assert "unknown to version 1" not in run.text
    passed = {fact["operation"] for fact in run.facts if fact["status"] == "passed" and fact["id"].endswith(".reference")}
    assert passed == CONFORM_IN_VERSION_1
    assert "gelu (no such operation)" in " ".join(run.text.split())


RELU = "    return FUNCTIONS[operation](arrays, keywords)"
RESULT = 'return pack({"value": str(results)}) if isinstance(results, int) else pack({}, results)'
DATA = 'return {"result": {**x, "data": array.array(x["data"].typecode, values)}}'
CHANNEL = 'channel = os.fdopen(os.dup(1), "wb")'
REQUEST, SEND = '    if request == "describe":', "    channel.write(answer(*request))"
NOISE = "    if request == 'call':\n        os.write(3, b'loading weights ...')\n"

# what a server does; the changes of the server in Python that make it do that; and what the verdict says
BROKEN = {
    "prints to standard output": (
        [(REQUEST, NOISE + REQUEST), (CHANNEL, 'os.dup2(1, 3)\nchannel = os.fdopen(3, "wb")')],
        "its process sent what is no answer: it begins with 'loading weights ...', which is text",
    ),
    "ends in a call": ([(RELU, f"    os._exit(3)\n{RELU}")], "the call ended its process, with exit status 3"),
    "is killed in a call": ([(RELU, f"    os.kill(os.getpid(), 11)\n{RELU}")], "the call ended its process: SIGSEGV"),
    "hangs in a call": ([(RELU, f"    import time\n    time.sleep(60)\n{RELU}")], "no answer within 2 s"),
    "raises": ([(RELU, f'    raise ValueError("rank 5")\n{RELU}')], "ValueError: rank 5"),
    "answers twice": ([(SEND, "    channel.write(2 * answer(*request))")], "after its last answer"),
    "answers with a number": ([(RESULT, 'return pack({"value": "7"})')], "the result is a int"),
    "answers with a description": ([(RESULT, 'return pack({"describe": "{}"})')], "answered a call with a description"),
    "answers with nothing": ([(RESULT, "return pack({})")], "holds no array"),
    "answers with a wrong name": ([('{"result": {', '{"y": {')], "the result is arrays named y"),
    "answers in another dtype": (
        [(DATA, 'return {"result": {**x, "dtype": "F64", "data": array.array("d", values)}}')],
        "the result is float64",
    ),
    "answers a wrong shape": ([(DATA, DATA.replace("**x,", '**x, "shape": [1, *x["shape"]],'))], "the result has shape (1,"),
    "says that it is lost": ([(RESULT, 'return pack({"error": "no device", "lost": "true"})')], "no device"),
    "writes a terminal's commands": ([(RESULT, 'return pack({"error": "\\x1b[2J\\n::error::x"})')], "the call failed:"),
    "sends half an answer": (
        [(SEND, "    channel.write(answer(*request)[: -4 if request[1] else None])")],
        "no answer within 2 s",
    ),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return one run on all servers of BROKEN, each in a folder of its own."""
    folder, words = tmp_path_factory.mktemp("broken"), []
    for number, (changes, _) in enumerate(BROKEN.values()):
        (inside := folder / f"server{number}").mkdir()
        write_server(inside, *changes)
        words.append(write_file(folder, f"broken{number}", f"{shlex.quote(sys.executable)} {inside}/server.py"))
    laws = ("-k", "relu.reference or relu.dtype")
    return suite(folder, *words, "--effort=smoke", "--time-limit=2", "--dtype=float32", *laws)


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_server_is_one_verdict(what: str, broken: Run) -> None:
    """The law that meets the fault fails and says what was wrong."""
    name, (_, sentence) = f"broken{[*BROKEN].index(what)}", BROKEN[what]
    assert "failed" in {fact["status"] for fact in broken.facts if fact["backend"] == name}
    assert sentence in describe_failures(broken, name)


def test_a_run_on_broken_servers_comes_to_its_end(broken: Run) -> None:
    assert broken.code == 1
    assert {fact["backend"] for fact in broken.facts} == {f"broken{number}" for number in range(len(BROKEN))}
    assert "Traceback (most recent call last)" not in broken.text.replace("server.py", "").partition("Captured")[0]
    assert "INTERNALERROR" not in broken.text
    assert "\x1b[2J" not in broken.text
    assert "\n::error::" not in broken.text


REFUSED = {
    "no program": ("process:./nothing", "there is no program ./nothing in"),
    "no such command": ("process:no-such-command-here", "there is no program no-such-command-here on the PATH"),
    "empty": ("process:", "it names no command"),
    "no file": ("nothing.toml", "cannot be read (No such file or directory)"),
    "no server": ("process:true", "when it was asked to describe itself, the call ended its process, with exit status 0"),
    "cat": ("process:cat", "it answered `describe` with arrays"),
    "a shell's words": ("process:echo hello world", "it begins with 'hello world\\n', which is text"),
}


def test_what_is_no_server_is_refused_in_a_sentence(tmp_path: Path) -> None:
    found = complaints(tmp_path, *(f"--backend={text}" for text, _ in REFUSED.values()))
    for complaint, (what, (_, sentence)) in zip(found, REFUSED.items(), strict=True):
        assert sentence in complaint, what


DESCRIPTIONS: dict[str, tuple[Any, str]] = {
    "no object": ([], "is no object"),
    "nothing": ({}, "lacks protocol, name, dtypes, operations"),
    "another protocol": ({"protocol": 2}, "says protocol 2; this suite speaks 1"),
    "another field": ({"colour": "red"}, "has the field 'colour'"),
    "a dtype of its own": ({"dtypes": ["float8"]}, "has the dtypes ['float8']"),
    "an integer of its own": ({"integer": "int8"}, "has the integer 'int8'"),
    "no operations": ({"operations": {}}, "has no object of operations"),
    "operations as a list": ({"operations": ["relu"]}, "has no object of operations"),
    "arrays as a text": ({"operations": {"relu": {"arrays": "x"}}}, "says of relu what is no list of different names"),
    "an empty range": ({"domain": {"relu": {"d": {"range": [1]}}}}, "has the domain {'range': [1]} for d of relu"),
    "a precision of its own": ({"precision": "exactly"}, "has the precision 'exactly'"),
    "a name that is a number": ({"name": 3}, "has a name that is no text"),
}
NOT_IN_THE_SCHEMA = {
    "an array of its own": ({"operations": {"relu": {"arrays": ["x", "y"]}}}, "its relu takes the array 'y'; relu has x"),
    "a keyword of its own": (
        {"operations": {"relu": {"arrays": ["x"], "keywords": ["slope"]}}}, "its relu takes the keyword 'slope'",
    ),
    "an array too few": ({"operations": {"linear": {"arrays": ["x"]}}}, "its linear has no array 'weight' among its arrays"),
    "no operation of the suite": ({"operations": {"dance": {}}}, "it defines none of the operations"),
}  # fmt: skip


@pytest.mark.parametrize("what", [*DESCRIPTIONS, *NOT_IN_THE_SCHEMA])
def test_a_malformed_description_is_refused_in_a_sentence(what: str, tmp_path: Path) -> None:
    from spec_tests.implementation.lookup import BackendError
    from spec_tests.processes.server_backend import load_process
    from spec_tests.specification.registry import gradients, operations

    change, sentence = {**DESCRIPTIONS, **NOT_IN_THE_SCHEMA}[what]
    right = {"protocol": 1, "name": "x", "dtypes": ["float32"], "operations": {"relu": {"arrays": ["x"]}}}
    description = {**right, **change} if isinstance(change, dict) and change else change
    text = write_server(tmp_path, ("json.dumps(DESCRIPTION)", repr(json.dumps(description)))).removeprefix("--backend=")
    with pytest.raises(BackendError) as refusal:
        load_process(text, tmp_path, operations(), gradients())
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((DOCS / "protocol" / "describe.schema.json").read_text())
    assert jsonschema.Draft202012Validator(schema).is_valid(description) is (what in NOT_IN_THE_SCHEMA)


def test_a_file_names_the_command_its_folder_and_its_environment(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    write_server(tmp_path / "inside", ('"version": sys.version.split()[0]', '"version": os.environ["COLOUR"]'))
    (tmp_path / "mine.toml").write_text(
        f'command = ["{sys.executable}", "server.py"]\nfolder = "inside"\nname = "mine"\nstart_seconds = 30\n'
        '[environment]\nCOLOUR = "red"\n'
    )
    run = suite(tmp_path, "--backend=mine.toml", "--effort=smoke", "-k", "relu.reference", "--report=report")
    assert run.code == 0
    records = [json.loads(line) for line in (tmp_path / "report" / "report.jsonl").read_text().splitlines()]
    (backend,) = [record for record in records if record["record"] == "backend"]
    assert (backend["name"], backend["version"]) == ("mine", '"example-python red", as it says')
    assert backend["file"] == "inside/server.py"
    (tmp_path / "mine.json").write_text(json.dumps({"command": "./nothing", "color": "red"}))
    (complaint,) = complaints(tmp_path, "--backend=mine.json")
    assert "it has the key 'color'; there are command, folder" in complaint


def test_a_failure_is_seen_again_with_the_line_that_it_prints(tmp_path: Path) -> None:
    run = suite(
        tmp_path, write_server(tmp_path), "--effort=smoke", "--dtype=float32", "-k", "logsumexp.reference", "--report=report"
    )
    (line,) = {line.strip() for line in run.text.splitlines() if ".request.safetensors" in line}
    done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=60)
    assert str(tmp_path / "report" / "requests") in line
    assert done.returncode == 0
    assert b'"result"' in done.stdout


def test_a_gradient_and_nested_weights_travel_by_name() -> None:
    from spec_tests.processes.message import Answer, ProcessArray
    from spec_tests.processes.server_backend import _flatten, _unflatten

    def array(number: int) -> ProcessArray:
        return ProcessArray("float32", np.array([number], np.float32))

    tree = {"embedding": array(0), "layers": [{"w": array(i)} for i in range(1, 12)]}
    flat = dict(_flatten(tree, "weights"))
    assert list(flat) == ["weights.embedding", *(f"weights.layers.{i}.w" for i in range(11))]
    again = _unflatten(Answer("arrays", arrays=flat).arrays, "weights")
    assert again["embedding"] is tree["embedding"]
    assert [layer["w"] for layer in again["layers"]] == [layer["w"] for layer in tree["layers"]]
    assert _unflatten(flat, "bias") is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PR_SET_PDEATHSIG is Linux's")
def test_no_server_outlives_the_run(tmp_path: Path) -> None:
    """Also not one whose call never ends, when the suite itself is killed."""
    hang = (RELU, f'    open("pid", "w").write(str(os.getpid()))\n    import time\n    time.sleep(600)\n{RELU}')
    backend = write_server(tmp_path, hang)
    options = ["-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests", "-k", "relu.reference"]
    words = [sys.executable, "-m", "pytest", *options, backend]
    child = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(ROOT))
    deadline = time.monotonic() + 300  # a safety net
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child.kill()
    child.wait()
    pid = int((tmp_path / "pid").read_text())
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_process_that_replaces_another_must_describe_itself_alike() -> None:
    connection = Connection(parse_command("server_describes_itself_anew.toml", BACKENDS / "broken"))
    try:
        connection.start()
        connection.discard_process(Fault(""))
        with pytest.raises(Fault, match="started again, its process describes itself differently"):
            connection.start()
    finally:
        connection.close()
