"""A start loads and collects what the run needs: no search for a cause, and no laws of operations that the backend lacks."""

import json
import re
import textwrap
from pathlib import Path

import pytest

from spec_tests.report.records import from_record
from spec_tests.report.verdict import Verdict
from spec_tests.report.verdicts import describe_not_tried
from spec_tests.specification.registry import gradients, operations

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, SOFTMAX, environment, pytest_run, python, suite, write

REFUSED = [("--operation=sofmax",), ("--require=sofmax",), ("--effort=smok",), ("--dtype=float3",), ("--resume",)]
NOT_AT_A_START = (
    "spec_tests.campaign",
    "spec_tests.commands",
    "spec_tests.deviations",
    "spec_tests.diagnosis",
    "spec_tests.vectors",
)
AFTER_A_FAILURE = ("spec_tests.report.failure", "spec_tests.report.script", "spec_tests.trials.causes")
MAX_MODULES = 330  # of the suite, where a backend has one function: all importers among them, which are loaded before any backend
LISTS_MODULES = """
import json
import sys

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    own = sorted(name for name in sys.modules if name.partition(".")[0] in ("reference_numpy", "spec_tests"))
    watched = session.config.pluginmanager.get_plugin("spec_tests.imports").session.patch_detector
    with open("modules.json", "w") as file:
        json.dump([own, len(session.items), watched.find_imports()], file)
"""


def load_modules(folder: Path, backend: str, *options: str) -> tuple[list[str], int, list[str]]:
    """Return the modules of the suite that a run has loaded, how many laws it has, and what it has loaded without a look."""
    (folder / "lists.py").write_text(LISTS_MODULES)
    write(folder, mine=backend)
    suite(folder, "-p", "lists", "--backend=mine.py", *options, env=environment(ROOT, folder))
    own, count, unwatched = json.loads((folder / "modules.json").read_text())
    return own, count, unwatched


@pytest.mark.parametrize("options", [("--collect-only", "-q"), ("-k", "relu.rectifies")])
def test_a_start_loads_what_the_run_needs(options: tuple[str, ...], tmp_path: Path) -> None:
    modules, _, _ = load_modules(tmp_path, NUMPY + RELU, *options)
    laws = {name.removeprefix("spec_tests.test_").partition("__")[0] for name in modules if name.startswith("spec_tests.test_")}
    assert [name for name in modules if name.startswith(NOT_AT_A_START) or name in AFTER_A_FAILURE] == []
    assert laws == {"relu", "every_operation", "every_gradient"}
    assert {"reference_numpy.relu", "spec_tests.operations.relu"} <= {*modules}
    assert not {"reference_numpy.rms_norm", "spec_tests.operations.rms_norm"} & {*modules}
    assert len(modules) <= MAX_MODULES


def test_a_start_collects_the_laws_of_the_operations_that_are_there(tmp_path: Path) -> None:
    """For each absent operation one comparison with the oracle is left, which says that the operation is absent."""
    write(tmp_path, mine=NUMPY + RELU)
    run = suite(tmp_path, "--backend=mine.py", "--collect-only", "-q")
    nodes = [line for line in run.text.splitlines() if "::" in line]
    absent = [node for node in nodes if "::test_reference[" in node and "[relu-" not in node]
    assert len(absent) == len((*operations(), *gradients())) - len(("relu",))
    rest = [node.rpartition("/")[2] for node in nodes if node not in absent]
    assert all(node.startswith("test_relu.py") or "[relu-" in node for node in rest)


@pytest.mark.rotating
def test_what_a_failure_loads_is_watched(tmp_path: Path) -> None:
    """The search for a cause is imported after a look, and what it imports is watched. The catalogue alone is not."""
    wrong = NUMPY + RELU.replace("np.maximum(x, 0)", "np.maximum(x, 1)")
    modules, _, unwatched = load_modules(tmp_path, wrong, "-k", "relu.reference")
    assert {*AFTER_A_FAILURE, "spec_tests.diagnosis.fit"} <= {*modules}
    assert [name for name in unwatched if not name.startswith("spec_tests.deviations.")] == []


def test_a_level_that_does_not_hold_loads_no_search_for_its_cause(tmp_path: Path) -> None:
    modules, count, unwatched = load_modules(tmp_path, NUMPY + SOFTMAX, "-k", "softmax.no_entries")
    assert count == 1
    assert "spec_tests.trials.failure" in modules, "the level holds"
    searches = ("spec_tests.deviations", "spec_tests.trials.cause", "spec_tests.diagnosis.fit", "spec_tests.report.failure")
    assert [name for name in modules if name.startswith(searches)] == []
    assert unwatched == []


def test_a_bug_that_the_catalogue_names_loads_no_other_operations(tmp_path: Path) -> None:
    modules, _, unwatched = load_modules(tmp_path, NUMPY + EPS_OUTSIDE, "-k", "rms_norm.reference")
    assert "spec_tests.deviations.rms_norm" in modules, "nothing failed"
    equations = ("reference_numpy.", "spec_tests.operations.")
    assert [name for name in modules if name.startswith(equations) and "moe_router" in name] == []
    assert [name for name in unwatched if not name.startswith("spec_tests.deviations.")] == []


def test_a_file_that_the_command_line_names_is_collected_although_the_backend_lacks_its_operation(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    path = ROOT / "spec_tests" / "test_silu.py"
    run = pytest_run(tmp_path, "-p", "spec_tests.plugin", "--spec-backend=mine.py", str(path))
    assert run.code == pytest.ExitCode.NO_TESTS_COLLECTED, run.text
    assert "error" not in run.text.lower()


# --- what is absent -------------------------------------------------------------------------------------------------------

BACKENDS = {
    "softmax_only": """
        import numpy as np
        framework = "numpy"

        def softmax(x, axis=-1):
            e = np.exp(x - np.max(x, axis=axis, keepdims=True))
            return e / np.sum(e, axis=axis, keepdims=True)
    """,
    "with_gradient": """
        import numpy as np
        framework, dtypes, domain = "numpy", ("float64", "float32"), {"relu": {"dtype": ("float32",)}}

        def relu(x):
            return np.maximum(x, 0)

        def sigmoid_vjp(dy, x):
            s = 1 / (1 + np.exp(-x))
            return (dy * s * (1 - s),)

        def causal_mask(m, n):
            return np.arange(n)[None, :] <= np.arange(m)[:, None] + n - m
    """,
    "torch_relu": """
        import torch
        framework = "torch"

        def relu(x):
            return torch.relu(x)

        def swiglu(x, w_gate, w_up, w_down):
            return (torch.nn.functional.silu(x @ w_gate.mT) * (x @ w_up.mT)) @ w_down.mT
    """,
}

SINCE = (
    "causal_conv1d",
    "dequantize",
    "divergence",
    "dpo_loss",
    "dynamic_quantize",
    "gated_rms_norm",
    "group_advantages",
    "indexer_scores",
    "l2_norm",
    "latent_attention",
    "latent_attention_absorbed",
    "linear_attention",
    "linear_attention_gate",
    "mamba2_scan",
    "muon_step",
    "newton_schulz",
    "penalize_logits",
    "policy_loss",
    "quantize",
    "sample",
    "sample_with_noise",
    "scaled_matmul",
    "soft_target_cross_entropy",
    "sampling_probabilities",
    "sparse_attention",
    "select_keys",
    "swizzle_scales",
    "token_log_probs",
    "unpack_int4",
    "verify_draft",
)


@pytest.mark.rotating
@pytest.mark.parametrize("name", BACKENDS)
def test_the_list_of_what_is_absent_is_as_it_was_when_all_laws_were_collected(name: str, tmp_path: Path) -> None:
    """`not_tried.json` has the lists of commit c956b87 at default effort. It collected the laws of all operations.

    It did not say yet that a function does not take None, and lacked the operations of SINCE.
    """
    before = json.loads((Path(__file__).parent / "not_tried.json").read_text())
    write(tmp_path, **{name: textwrap.dedent(BACKENDS[name])})
    run = suite(tmp_path, f"--backend={name}.py", "-k", "reference", "--hypothesis-seed=0")
    said = describe_not_tried([from_record(Verdict, fact) for fact in run.facts])
    for operation in SINCE:
        listed = re.compile(rf"(?<= ){operation}, |, {operation}$")
        assert any(listed.search(sentence) for sentence in said)
        said = [listed.sub("", sentence) for sentence in said]
    assert [sentence for sentence in said if " raises where m is None" not in sentence] == before[name]


# --- selecting operations, and requiring them ---------------------------------------------------------------------------------


def test_operation_selects_by_the_whole_name(tmp_path: Path) -> None:
    """-k softmax. selects log_softmax as well."""
    log_softmax = "\n\ndef log_softmax(x, *, axis):\n    return np.log(softmax(x, axis=axis))\n"
    both = NUMPY + SOFTMAX + log_softmax
    modules, count, _ = load_modules(tmp_path, both, "--operation=softmax", "--collect-only", "-q")
    assert count > 1
    assert "spec_tests.test_log_softmax" not in modules
    run = suite(tmp_path, "--backend=mine.py", "--operation=softmax", "--collect-only", "-q")
    assert {line.partition("[")[2].partition("-")[0] for line in run.text.splitlines() if "every_operation" in line} == {
        "softmax"
    }
    assert "log_softmax" not in run.text


def test_operation_of_an_unknown_name_is_refused(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    run = suite(tmp_path, "--backend=mine.py", "--operation=relus")
    assert run.code == pytest.ExitCode.USAGE_ERROR
    assert "there is no operation 'relus'. Did you mean relu" in run.text


@pytest.mark.rotating
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "workers"])
def test_a_required_operation_that_the_selection_leaves_untried_fails_the_run(workers: tuple[str, ...], tmp_path: Path) -> None:
    two = NUMPY + RELU + "\n\ndef sigmoid(x):\n    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)\n"
    write(tmp_path, mine=two)
    options = ("--backend=mine.py", "--require=relu,sigmoid", *workers)
    run = suite(tmp_path, *options, "-k", "relu.rectifies")
    assert run.code == pytest.ExitCode.TESTS_FAILED, run.text
    assert "ERROR: --require=sigmoid: no law of sigmoid was tried" in run.text
    assert "the run fails: --require=sigmoid" in run.text
    run = suite(tmp_path, *options, "-k", "relu.rectifies or sigmoid.complement")
    assert run.code == 0, run.text


def test_a_run_that_tries_nothing_on_purpose_may_require_something(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    assert suite(tmp_path, "--backend=mine.py", "--require=relu", "--collect-only", "-q").code == 0


@pytest.mark.parametrize("options", [*REFUSED, ("--help",)], ids=" ".join)
def test_what_is_refused_or_only_printed_loads_no_framework_and_no_session(options: tuple[str, ...], tmp_path: Path) -> None:
    """`python -m meta_tests.measure.starts` prints how many CPU seconds it takes."""
    write(tmp_path, mine="import torch\n" + NUMPY + RELU)
    words = ("-X", "importtime", "-m", "pytest", "--pyargs", "spec_tests", "--backend=mine.py", *options)
    done = python(tmp_path, *words)
    assert done.returncode == (0 if options == ("--help",) else 4), done.stderr[-2000:]
    loaded = set(re.findall(r"^import time:.*\| +([\w.]+)$", done.stderr, re.MULTILINE))
    assert "spec_tests.running.options" in loaded
    assert not loaded & {"torch", "jax", "spec_tests.running.session", "spec_tests.trials.trial"}
    if options != ("--help",):
        assert done.stderr.count("ERROR: ") == 1
        assert options[0].partition("=")[0] in done.stderr
