"""Test the servers that `spec-tests serve-skeleton` writes: they build, answer the messages, and are judged once filled in."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from spec_tests.commands import main
from spec_tests.processes.description import find_misfits, read_description
from spec_tests.servers.interface import interface
from spec_tests.servers.languages import LANGUAGES, Language
from spec_tests.servers.skeleton import FILLED_IN, TEMPLATES, write_files
from spec_tests.specification.registry import gradients, operations

from ..support.paths import DOCS
from ..support.pytest_process import Run, suite
from ..support.servers import EXAMPLES

REPLAY = DOCS / "protocol" / "replay.py"
NAMES = (*operations(), *gradients())
RELU = {  # the body of the function, in which NEGATIVE stands for what a negative number becomes
    "c": """const spec_array *x = spec_find(in, "x");
  if (!x || strcmp(x->dtype, "F32")) return NOT_IMPLEMENTED("x is an array of float32");
  float *y = spec_add(out, "result", "F32", x->rank, x->shape), *v = x->data;
  for (size_t i = 0; i < x->count; i++) y[i] = v[i] < 0 ? NEGATIVE : v[i];
  return RESULTS;""",
    "cpp": """std::vector<float> y = m.arrays.at("x").read<float>("F32");
  for (float &v : y) v = v < 0 ? NEGATIVE : v;
  return {{"result", Array::of("F32", m.arrays.at("x").shape, y)}};""",
    "rust": """let x = find(message, "x")?;
    let y: Vec<f32> = x.floats()?.iter().map(|v| if *v < 0.0 { NEGATIVE as f32 } else { *v }).collect();
    result(Array::of_floats(&x.shape, &y))""",
    "go": """x, err := Read[float32](arrays["x"], "F32")
	if err != nil {
		return nil, err
	}
	for i, v := range x {
		if v < 0 {
			x[i] = NEGATIVE
		}
	}
	return Arrays{"result": Of("F32", arrays["x"].Shape, x)}, nil""",
    "javascript": """const {dtype, shape, data} = arrays.x;
    if (dtype !== 'F32') throw new NotImplemented(dtype);
    return {dtype, shape, data: data.map(v => v < 0 ? NEGATIVE : v)};""",
    "java": """float[] y = arrays.get("x").floats();
        for (int i = 0; i < y.length; i++) if (y[i] < 0) y[i] = NEGATIVE;
        return Map.of("result", Array.of(arrays.get("x").shape(), y));""",
    "python": """x = arrays["x"]
    if x["dtype"] != "F32":
        raise NotImplementedError(x["dtype"])
    return {"result": {**x, "data": array.array("f", [NEGATIVE if v < 0 else v for v in x["data"]])}}""",
}
NOT_WRITTEN = re.compile(r"[^\n;{]*\brelu is not written yet[^\n]*")


def write_server(language: Language, folder: Path, negative: int | None = None) -> str:
    """Write a server of relu and softmax, build it, and return the command that starts it. negative: relu is filled in."""
    assert main(["serve-skeleton", language.name, "relu", "softmax", f"--output={folder}"]) == 0
    if negative is not None:
        source = (folder / language.file).read_text()
        (line,) = NOT_WRITTEN.findall(source)
        indent = line[: len(line) - len(line.lstrip())]
        (folder / language.file).write_text(source.replace(line, indent + RELU[language.name].replace("NEGATIVE", str(negative))))
    if language.build:
        environment = {**os.environ, "GOCACHE": str(folder / "cache")}
        subprocess.run(["sh", "-c", language.build], cwd=folder, check=True, env=environment, timeout=300)
    if language.name == "python":
        return shlex.join([sys.executable, str(folder / language.file)])
    start = language.start.replace("./", f"{folder}/").replace(language.file, f"{folder}/{language.file}")
    return start.replace("java ", f"java -cp {folder} ")


@pytest.fixture(params=LANGUAGES.values(), ids=LANGUAGES)
def language(request: pytest.FixtureRequest) -> Language:
    found: Language = request.param
    for tool in found.tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    return found


@pytest.mark.rotating
def test_a_skeleton_builds_and_answers_the_published_messages(language: Language, tmp_path: Path) -> None:
    command = write_server(language, tmp_path)
    done = subprocess.run([sys.executable, REPLAY, *shlex.split(command)], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("40 requests answered as the protocol says\n", "")


@pytest.mark.rotating
def test_a_filled_in_function_is_judged(language: Language, tmp_path: Path) -> None:
    """A right one passes at smoke, and a wrong one is caught. A function that is not written is no failure."""
    words = []
    for name, negative in (("right", 0), ("wrong", 1)):
        command = write_server(language, tmp_path / name, negative)
        (tmp_path / f"{name}.json").write_text(json.dumps({"command": command, "name": name}))
        words.append(f"--backend={name}.json")
    run: Run = suite(tmp_path, *words, "--effort=smoke", "-k", "relu.reference or softmax.reference")
    status = {(fact["backend"], fact["operation"], fact["dtype"]): fact["status"] for fact in run.facts}
    assert status["right", "relu", "float32"] == "passed"
    assert status["wrong", "relu", "float32"] == "failed"
    assert {status[name, "softmax", "float32"] for name in ("right", "wrong")} == {"skipped"}


def test_the_examples_have_the_protocol_of_the_templates() -> None:
    for name in LANGUAGES:
        files = [path for path in (TEMPLATES / name).iterdir() if path.suffix != FILLED_IN]
        assert {path.name: path.read_text() for path in files} == {
            path.name: (EXAMPLES / name / path.name).read_text() for path in files
        }
    assert [name for name in LANGUAGES if len([*(TEMPLATES / name).iterdir()]) == 1] == ["python"]


def test_the_example_in_python_is_the_template_with_its_functions_filled_in() -> None:
    """It is one file, so that it can be sent to another environment alone."""
    template = (TEMPLATES / "python" / "server.py.in").read_text()
    fixed = re.split(r"@\w+@", template[template.index("import array") :])
    pattern = r"[\s\S]*".join(map(re.escape, fixed))
    example = (EXAMPLES / "python" / "server.py").read_text()
    assert re.fullmatch(pattern, example[example.index("import array") :])


@pytest.mark.parametrize("name", LANGUAGES)
def test_everything_can_be_written_in_every_language(name: str) -> None:
    source = write_files(LANGUAGES[name], [interface(each) for each in NAMES])[LANGUAGES[name].file]
    assert re.findall(r"@(?:build|test|description|functions|table)@", source) == []
    assert [each for each in NAMES if len(re.findall(rf"\b{each} is not written yet", source)) != 1] == []


def test_what_is_described_is_what_the_operations_take() -> None:
    source = write_files(LANGUAGES["go"], [interface(each) for each in NAMES])["server.go"]
    description = read_description(source.partition("const description = `")[2].partition("`")[0])
    assert [*description.operations] == [*NAMES]
    assert [*find_misfits(description, NAMES)] == []


def test_the_page_shows_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "protocol.md").read_text()
    command, _, shown = page.partition("    $ spec-tests serve-skeleton ")[2].partition("\n\n")[0].partition("\n")
    assert main(["serve-skeleton", *shlex.split(command)]) == 0
    assert capsys.readouterr().out == dedent(shown) + "\n"


def test_the_command_prints_what_to_do_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kernels"
    assert main(["serve-skeleton", "rust", "rms_norm", f"--output={folder}"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"wrote {folder / 'server.rs'} and {folder / 'spec_server.rs'}: fill in the functions of server.rs",
        f"  cd {folder}",
        "  rustc --edition 2021 -O server.rs",
        '  pytest --pyargs spec_tests --backend="process:./server" --effort=smoke',
    ]
    source = (folder / "server.rs").read_text()
    assert "//   eps        float, required, as 1e-05\n" in source
    assert '"rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]}' in source


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rust", "rmsnorm"], "there is no operation 'rmsnorm'; did you mean rms_norm"),
        (["cobol", "relu"], "invalid choice: 'cobol'"),
        (["c", "relu"], "server.c exists, and nothing is overwritten"),
    ],
)
def test_what_cannot_be_written_is_refused(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.c").write_text("mine")
    with pytest.raises(SystemExit) as end:
        main(["serve-skeleton", *words])
    assert end.value.code == 4
    assert sentence in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["server.c"]
    assert (tmp_path / "server.c").read_text() == "mine"
