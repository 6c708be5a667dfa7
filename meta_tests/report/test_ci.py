"""Tests of what CI uses: the badge, the summary of a step, the GitHub action, and the snippets of the guide."""

import json
import re
import shlex
import subprocess
import sys
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
    known = "matches: epsilon stands outside the square root (rms_norm/eps-outside-sqrt)"
    text = format_step_summary(
        build_results([report(tmp_path, failed("rms_norm.reference", said=known), verdict(), verdict(dtype="bfloat16"))])
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


def test_the_action_runs_what_it_is_given(tmp_path: Path) -> None:
    """Run the step that runs the suite in a shell, as the runner of GitHub does. Its inputs are data, never code."""
    action = pytest.importorskip("yaml").safe_load((ROOT / "action.yml").read_text())
    (step,) = [step for step in action["runs"]["steps"] if "pytest" in step.get("run", "")]
    assert all("${{" not in other.get("run", "") for other in action["runs"]["steps"])
    assert set(re.findall(r"inputs\.(\w+)", json.dumps(action))) == action["inputs"].keys()
    chosen = {"backend": "mine.py\n$(touch hacked).py", "effort": "smoke", "options": "-k\nrelu.reference\n-pspec_tests.plugin\n"}
    inputs = {name: chosen.get(name, declared.get("default", "")) for name, declared in action["inputs"].items()}
    env = {name: inputs[str(value).strip("${} ").removeprefix("inputs.")] for name, value in step["env"].items()}
    write(tmp_path, mine=NUMPY + RELU)
    paths = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "GITHUB_STEP_SUMMARY": ""}

    def run(**changed: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        merged = environment(ROOT, **paths, **{**env, **changed})
        return subprocess.run(command, cwd=tmp_path, env=merged, capture_output=True, text=True, check=False)

    refused = run()
    assert refused.returncode == 4
    assert "--backend=$(touch hacked).py: there is no file" in refused.stdout + refused.stderr
    accepted = run(BACKENDS="mine.py")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    assert {path.name for path in (tmp_path / "conformance").iterdir()} == {"report.html", "report.jsonl", "badge.json"}
    assert not (tmp_path / "hacked").exists()


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
    action = pytest.importorskip("yaml").safe_load((ROOT / "action.yml").read_text())
    steps = [step for tree in workflows() if "jobs" in tree for job in tree["jobs"].values() for step in job["steps"]]
    (action_step,) = [step for step in steps if "spec-tests@" in step.get("uses", "")]
    assert action_step["with"].keys() <= action["inputs"].keys()
    assert {name for name, declared in action["inputs"].items() if declared.get("required")} <= action_step["with"].keys()


def test_the_extras_that_are_installed_exist() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = GUIDE.read_text() + (ROOT / "action.yml").read_text()
    extras_used = {name for found in re.findall(r"(?:spec-tests|PATH)\[([\w,-]+)\]", text) for name in found.split(",")}
    assert extras_used == {"report", "parallel"}
    assert extras_used <= extras.keys()
