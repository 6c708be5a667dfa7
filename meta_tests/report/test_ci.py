"""Tests of what CI uses: the badge, the summary of a step, the GitHub action, and the snippets of the guide."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from spec_tests.report import Report
from spec_tests.report.backend_results import build_results
from spec_tests.report.badge import format_badge
from spec_tests.report.github_step import format_step_summary

from ..support.handmade_reports import failed, report, verdict
from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, RELU, environment, python, suite, write

BADGE_FIELDS = {"schemaVersion", "label", "message", "color"}  # what shields.io requires of an endpoint badge
GUIDE = ROOT / "docs" / "guides" / "ci.md"
HOSTILE = "<script>x</script> | `code` **b** [l](javascript:x) # @you\n\n# heading\n</pre>\u202e\x1b[31m &amp; ~~~"


def read_badge(*reports: Report) -> dict[str, Any]:
    return dict(json.loads(format_badge(build_results(reports))))


# --- the badge --------------------------------------------------------------------------------------------------------


def test_a_badge_claims_no_more_than_the_run(tmp_path: Path) -> None:
    whole = read_badge(report(tmp_path / "a", verdict()))
    assert whole.keys() == BADGE_FIELDS
    assert whole == {"schemaVersion": 1, "label": "spec_tests", "message": "1 operation conforms", "color": "brightgreen"}
    assert read_badge(report(tmp_path / "b", verdict(), failed("silu.zero")))["color"] == "red"
    assert read_badge(report(tmp_path / "c", verdict(), effort="smoke"))["color"] == "lightgrey"
    assert read_badge(report(tmp_path / "d", verdict(), footer=None))["color"] == "lightgrey"
    assert read_badge()["message"] == "nothing was tried"


def test_of_several_backends_the_worst_decides(tmp_path: Path) -> None:
    both = read_badge(report(tmp_path / "a", verdict()), report(tmp_path / "b", failed() | {"backend": "yours"}))
    assert (both["color"], both["message"]) == ("red", "yours: 1 of 1 operations deviates")


# --- the summary of a step --------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The names of the tags in an HTML text."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_a_summary_says_what_is_wrong_before_the_table(tmp_path: Path) -> None:
    known = {"rms_norm/eps-outside-sqrt": "epsilon stands outside the square root"}
    text = format_step_summary(
        build_results([report(tmp_path, failed("rms_norm.reference", explained=known), verdict(), verdict(dtype="bfloat16"))])
    )
    assert text.startswith("## ❌ mine: 1 of 2 operations deviates\n")
    assert "### rms\\_norm: epsilon stands outside the square root" in text
    assert text.index("again: pytest -k relu.reference") < text.index("| operation | float32 | bfloat16 |")
    assert "| relu | fused 0.25 0.1 | fused 0.25 0.1 |" in text
    assert "| rms\\_norm | ❌ 1 of 1 fail |  |" in text


def test_nothing_in_a_summary_is_markup(tmp_path: Path) -> None:
    hostile = failed(said=HOSTILE, what=HOSTILE, inputs=HOSTILE, again=HOSTILE, facts=[[HOSTILE, HOSTILE]])
    error = {"record": "error", "node": HOSTILE, "when": "setup", "message": HOSTILE}
    text = format_step_summary(build_results([report(tmp_path, {**hostile, "backend": HOSTILE}, error)]))
    assert set(Tags(text).tags) == {"pre"}
    assert text.count("</pre>") == 1
    pre = text[text.index("<pre>") : text.index("</pre>")]
    assert "\n\n" not in pre  # which would end the block
    outside = text.replace(pre, "")
    assert not re.search(r"(?<!\\)[`*\[\]]|^# |\x1b|\u202e", outside, re.MULTILINE)
    assert [line.count("|") - line.count("\\|") for line in outside.splitlines() if line.startswith("|")] == [3, 3, 3]


def test_a_run_appends_its_summary_where_a_step_has_one(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    (step := tmp_path / "step.md").write_text("what was there\n")
    args, env = ("--backend=mine.py", "-k", "relu.reference"), environment(ROOT, GITHUB_STEP_SUMMARY=str(step))
    assert suite(tmp_path, *args, env=env).code == 0
    assert step.read_text() == "what was there\n"  # without a report, nothing
    assert suite(tmp_path, *args, "--report=out", env=env).code == 0
    assert step.read_text().startswith("what was there\n## ⚪ mine: the selected invariants hold\n")
    assert json.loads((tmp_path / "out" / "badge.json").read_text())["message"] == "the selected invariants hold"


# --- the action and the guide -----------------------------------------------------------------------------------------


def load_action() -> dict[str, Any]:
    return dict(pytest.importorskip("yaml").safe_load((ROOT / "action.yml").read_text()))


def find_suite_step(action: dict[str, Any]) -> dict[str, Any]:
    (step,) = [step for step in action["runs"]["steps"] if "pytest" in step.get("run", "")]
    return dict(step)


@dataclass(frozen=True)
class Step:
    """What a run of the action's step printed and left: its exit status and the outputs that it set."""

    code: int
    text: str
    outputs: dict[str, str]


def run_action(workspace: Path, **chosen: str) -> Step:
    """Run the step that runs the suite as GitHub's runner does: a file, run by Python in the working directory."""
    action = load_action()
    step, inputs = (
        find_suite_step(action),
        {name: str(declared.get("default", "")) for name, declared in action["inputs"].items()},
    )
    inputs |= {name.replace("_", "-"): value for name, value in chosen.items()}
    contexts = {f"inputs.{name}": value for name, value in inputs.items()} | {"github.job": "test", "strategy.job-index": "3"}

    def evaluate(value: object) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: contexts[found[1]], str(value))

    assert step["shell"] == "python"
    (script := workspace.parent / "step.py").write_text(step["run"])
    (output := workspace.parent / "output.txt").write_text("")
    env = {name: evaluate(value) for name, value in step["env"].items()} | {
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": "",
    }
    done = subprocess.run(
        [sys.executable, str(script)], cwd=workspace / evaluate(step["working-directory"]), env=environment(ROOT, **env),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    outputs = re.findall(r"^(\S+)<<(\S+)\n(.*?)\n\2$", output.read_text(), re.MULTILINE | re.DOTALL)
    return Step(done.returncode, done.stdout + done.stderr, {name: value for name, _, value in outputs})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a folder with a backend in a folder of its own."""
    (folder := tmp_path / "workspace" / "kernels").mkdir(parents=True)
    write(folder, mine=NUMPY + RELU, wrong=NUMPY + RELU.replace("(x, 0)", "(x, 1)"))
    return folder.parent


SELECTED = "-k relu.reference\n-pspec_tests.plugin"


def test_the_action_runs_what_it_is_given(workspace: Path) -> None:
    """Options are written as in a shell; paths are relative to the working directory, outputs to the workspace."""
    pytest.importorskip("jinja2")
    options = f"{SELECTED} --dtype float32 --require 'relu'"
    done = run_action(workspace, backend="mine.py", effort="smoke", options=options, working_directory="kernels")
    assert done.code == 0, done.text
    assert done.outputs == {
        "exit-code": "0",
        "verdict": "the selected invariants hold",
        "badge": "kernels/conformance/badge.json",
        "page": "kernels/conformance/report.html",
        "report": "kernels/conformance",
        "artifact": "conformance-test-3",
    }
    assert all((workspace / done.outputs[name]).is_file() for name in ("badge", "page"))
    assert {path.name for path in (workspace / "kernels" / "conformance").iterdir()} == {
        "report.html", "report.jsonl", "badge.json"
    }  # fmt: skip


def test_the_action_says_what_deviates(workspace: Path) -> None:
    done = run_action(workspace, backend="wrong.py", effort="smoke", options=SELECTED, working_directory="kernels")
    assert (done.code, done.outputs["exit-code"]) == (1, "1"), done.text
    assert done.outputs["verdict"] == "1 of 1 operations deviates"


@pytest.mark.rotating
def test_several_backends_stand_one_a_line(workspace: Path) -> None:
    options = f"{SELECTED} --dtype=float32"
    done = run_action(workspace, backend="kernels/mine.py\nkernels/wrong.py\n", effort="smoke", options=options)
    assert done.code == 1, done.text
    assert done.outputs["verdict"].startswith("wrong: 1 of 1 operations deviates")


def test_the_inputs_of_the_action_are_data(workspace: Path) -> None:
    """Nothing in them is run by a shell, and nothing of an earlier run is taken for this run's."""
    (workspace / "conformance").mkdir()
    (workspace / "conformance" / "badge.json").write_text(json.dumps({"message": "an earlier run"}))
    hostile = "$(touch hacked)`touch hacked`.py"
    done = run_action(workspace, backend=hostile, options=f"{SELECTED} '; touch hacked'")
    assert done.code == 4
    assert "$(touch hacked)" in done.text
    assert not list(workspace.rglob("hacked*"))
    assert (done.outputs["exit-code"], done.outputs["verdict"], done.outputs["badge"]) == ("4", "nothing ran", "")


def test_a_quotation_mark_without_its_other_half_is_one_sentence(workspace: Path) -> None:
    done = run_action(workspace, backend="mine.py", options="-k 'relu")
    assert done.code != 0
    assert done.text == "options: No closing quotation: -k 'relu\n"


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("artifact", "report", "expected"),
    [("auto", "out/a", "out-a-test-3"), ("mine: 3.12", "out", "mine- 3.12"), ("", "out", "")],
)
def test_the_name_of_the_artifact(artifact: str, report: str, expected: str, workspace: Path) -> None:
    """Two jobs of a matrix have two names. An artifact's name must not have the characters that Windows forbids."""
    options = f"{SELECTED} --dtype=float32 --collect-only"
    (workspace / report).mkdir(parents=True)
    done = run_action(workspace, backend="kernels/mine.py", options=options, artifact=artifact, report=report)
    assert done.outputs["artifact"] == expected, done.text


def test_the_action_is_pinned_and_safe() -> None:
    action = load_action()
    text, steps = json.dumps(action), action["runs"]["steps"]
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == action["inputs"].keys(), "every input is used"
    assert all("${{" not in step.get("run", "") for step in steps), "inputs are data, never code"
    used = {step["uses"] for step in steps if "uses" in step}
    assert {name.partition("@")[0] for name in used} == {"actions/setup-python", "actions/upload-artifact"}
    assert all(re.search(r"@[0-9a-f]{40}$", name) for name in used)
    versions = re.findall(r"uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", (ROOT / "action.yml").read_text(), re.MULTILINE)
    assert len(versions) == len(used), "a comment says the version"
    set_by_the_step = set(re.findall(r'^ +"([\w-]+)": ', find_suite_step(action)["run"], re.MULTILINE))
    read = set(re.findall(r"steps\.suite\.outputs\.([\w-]+)", text))
    assert read == set_by_the_step == action["outputs"].keys() | {"report"}


def test_the_shells_of_the_action_are_on_every_runner() -> None:
    """Linux, macOS and Windows have bash and Python. What bash runs is one command without a path of one of them."""
    for step in load_action()["runs"]["steps"]:
        if "run" in step:
            assert step["shell"] in ("bash", "python")
            assert step["shell"] == "python" or re.fullmatch(r'python -m pip install "[^"/\\]+"', step["run"])
    step = find_suite_step(load_action())
    assert not re.search(r"/usr|/tmp|\bsignal\b|os\.(fork|kill|getuid)", step["run"])
    assert step["env"]["PYTHONUTF8"] == "1"


def workflows() -> list[Any]:
    """Return the YAML snippets of the guide."""
    yaml = pytest.importorskip("yaml")
    return [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)]


def commands(tree: Any) -> list[str]:
    """Return every line that a job of the guide runs."""
    if isinstance(tree, dict):
        lines = [
            line for key in ("run", "script") for line in ([tree[key]] if isinstance(tree.get(key), str) else tree.get(key, []))
        ]
        return lines + [line for value in tree.values() if isinstance(value, dict | list) for line in commands(value)]
    return [line for item in tree if isinstance(item, dict) for line in commands(item)]


def test_the_commands_of_the_guide_can_be_run(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    write(tmp_path, my_backend=NUMPY + RELU)
    pytest_commands = [
        shlex.split(line) for tree in workflows() for line in dict.fromkeys(commands(tree)) if line.startswith("pytest ")
    ]
    assert len(pytest_commands) == 2
    for words in pytest_commands:
        options = ("-p", "spec_tests.plugin", "--collect-only", "-q", "-n0", "-k", "relu.reference")
        done = python(tmp_path, "-m", *words, *options, env=environment(ROOT, GITHUB_STEP_SUMMARY=""))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "test_reference[relu-my_backend-float32]" in done.stdout


def test_the_guide_gives_the_action_inputs_that_it_has() -> None:
    action = load_action()
    jobs = [job for tree in workflows() if "jobs" in tree for job in tree["jobs"].values()]
    action_steps = [(job, step) for job in jobs for step in job["steps"] if "spec-tests@" in step.get("uses", "")]
    assert len(action_steps) == 2
    required = {name for name, declared in action["inputs"].items() if declared.get("required")}
    for job, step in action_steps:
        assert required <= step["with"].keys() <= action["inputs"].keys()
        text = json.dumps(job)
        assert set(re.findall(r"steps\.suite\.outputs\.([\w-]+)", text)) <= action["outputs"].keys()
        assert set(re.findall(r"matrix\.([\w-]+)", text)) <= job.get("strategy", {}).get("matrix", {}).keys()
    matrix = action_steps[1][0]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_guide_lists_every_input_and_output_of_the_action() -> None:
    action, text = load_action(), GUIDE.read_text()
    inputs, _, outputs = text.partition("| input |")[2].partition("| output |")
    assert re.findall(r"^\| `([\w-]+)` \|", inputs, re.MULTILINE) == list(action["inputs"])
    assert re.findall(r"^\| `([\w-]+)` \|", outputs.partition("\n\n")[0], re.MULTILINE) == list(action["outputs"])


def test_the_guide_pins_the_actions_that_it_uses() -> None:
    used = re.findall(r"uses: (actions/\S+)", GUIDE.read_text())
    assert used
    assert [name for name in used if not re.search(r"@v\d+\.\d+\.\d+$", name)] == []


def test_the_extras_that_are_installed_exist() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = GUIDE.read_text() + (ROOT / "action.yml").read_text()
    extras_used = {name for found in re.findall(r"(?:spec-tests|PATH)\[([\w,-]+)\]", text) for name in found.split(",")}
    assert extras_used == {"report", "parallel"}
    assert extras_used <= extras.keys()
