"""Definitions and solutions of flashinfer-bench and SOL-ExecBench: results returned or written, and other languages."""

import json
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.implementation.import_file import import_file
from spec_tests.importers import NotTaken
from spec_tests.importers.flashinfer_bench import open_path
from spec_tests.specification.registry import operations

from ..support.in_process import caught_by
from ..support.paths import ROOT
from ..support.pytest_process import environment, suite
from .importing import IMPORTED, find_passed, flatten, try_import

pytest.importorskip("torch")

RIGHT = {
    "rms_norm/right.json": ("rms_norm", "eps = 1e-05; results are written into its last arguments"),
    "rms_norm/definition.json": ("rms_norm", "eps = 1e-05; results are returned"),
    "linear": ("linear", "x is A and the weight is B"),
    "paged_attention/definition.json": ("paged_attention", "one new token a row"),
}
WRONG = {"rms_norm/wrong.json": ("rms_norm", "bfloat16"), "paged_attention/wrong.json": ("paged_attention", "float32")}


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_solution_conforms(tmp_path: Path, name: str) -> None:
    operation, words = RIGHT[name]
    run = try_import(tmp_path, f"flashinfer_bench/{name}", operation)
    assert run.code == 0, run.text
    assert find_passed(run) == {operation}
    assert words in flatten(run.text)


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("more", [(), ("--isolate",)])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_solution_fails(tmp_path: Path, name: str, more: tuple[str, ...]) -> None:
    operation, dtype = WRONG[name]
    run = try_import(tmp_path, f"flashinfer_bench/{name}", operation, more=more)
    assert run.code == 1, run.text
    assert [fact["dtype"] for fact in run.facts if fact["status"] == "failed"] == [dtype]


@pytest.mark.parametrize(("name", "code"), [("right", 0), ("wrong", 1)])
def test_triton_solutions_run_in_the_interpreter(tmp_path: Path, name: str, code: int) -> None:
    pytest.importorskip("triton")
    solution = IMPORTED / "flashinfer_bench" / "rms_norm_triton" / f"{name}.json"
    options = (f"--backend={solution}", "--effort=smoke", "--hypothesis-seed=1", "-k", "rms_norm.reference")
    run = suite(tmp_path, *options, env=environment(ROOT, TRITON_INTERPRET="1"))
    assert run.code == code, run.text
    assert ("epsilon stands outside the square root" in flatten(run.text)) == (name == "wrong")
    if not import_module("torch").cuda.is_available():
        refused = suite(tmp_path, *options, env=environment(ROOT, TRITON_INTERPRET="0"))
        assert refused.code == 4
        assert "is written in Triton, which finds no GPU here; with TRITON_INTERPRET=1" in flatten(refused.text)


REFUSED = {
    "rms_norm/compiled.json": "rmsnorm-cuda is written in cuda, which has to be compiled; Python and Triton solutions run",
    "rms_norm": "the folder has 3 solutions (compiled.json, right.json, wrong.json); name one of them",
    "unknown/definition.json": "it defines cumsum (x -> y), which is not taken: no operation has these arrays; write",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_run_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    run = suite(tmp_path, f"--backend={IMPORTED / 'flashinfer_bench' / name}")
    assert run.code == 4
    assert REFUSED[name] in flatten(run.text)
    assert "Traceback" not in run.text


OUTSIDE = {
    "/outside.py::run": "the entry point '/outside.py', which lies outside of its folder",
    "../outside.py::run": "the entry point '../outside.py', which lies outside of its folder",
    "a/../../outside.py::run": "the entry point 'a/../../outside.py', which lies outside of its folder",
    "C:\\outside.py::run": "the entry point 'C:\\\\outside.py', which lies outside of its folder",
    "other.py::run": "no source for its entry point 'other.py::run'",
}


@pytest.mark.parametrize("entry", OUTSIDE)
def test_an_entry_point_outside_of_the_solution_is_refused(tmp_path: Path, entry: str) -> None:
    folder = tmp_path / "solution"
    folder.mkdir()
    shutil.copy(IMPORTED / "flashinfer_bench" / "rms_norm" / "definition.json", folder)
    solution = json.loads((IMPORTED / "flashinfer_bench" / "rms_norm" / "right.json").read_text())
    (tmp_path / "outside.py").write_text("raise RuntimeError('it ran')\n")
    solution["spec"]["entry_point"] = entry.replace("/outside", f"{tmp_path}/outside") if entry.startswith("/") else entry
    (folder / "solution.json").write_text(json.dumps(solution))
    with pytest.raises(NotTaken) as refusal:
        open_path(folder, import_file)
    assert OUTSIDE[entry] in str(refusal.value).replace(str(tmp_path), "")


def test_a_definition_is_found_in_a_data_set(tmp_path: Path) -> None:
    files = IMPORTED / "flashinfer_bench" / "rms_norm"
    solution = tmp_path / "data/solutions/me/rmsnorm/rmsnorm_h64/right.json"
    definition = tmp_path / "data/definitions/rmsnorm/rmsnorm_h64.json"
    for source, target in (("right.json", solution), ("definition.json", definition)):
        target.parent.mkdir(parents=True)
        shutil.copy(files / source, target)
    run = suite(tmp_path, f"--backend={solution}", "--effort=smoke", "-k", "rms_norm.reference")
    assert run.code == 0, run.text


def define(
    name: str, inputs: dict[str, tuple[str, ...]], reference: str, *, dtype: str = "float32", **more: tuple[str, ...]
) -> dict[str, Any]:
    """Return a definition whose inputs and outputs have these axes. Axes with a number in their name have that size."""
    outputs = more or {"y": next(iter(inputs.values()))}
    axes = {axis for shape in (*inputs.values(), *outputs.values()) for axis in shape}
    sizes = {axis: int(digits) for axis in axes if (digits := axis.lstrip("abcdefghijklmnopqrstuvwxyz_"))}
    described = {axis: {"type": "const", "value": sizes[axis]} if axis in sizes else {"type": "var"} for axis in sorted(axes)}
    kinds = {"starts": "int32", "ids": "int64"}

    def list_arrays(shapes: dict[str, tuple[str, ...]]) -> dict[str, Any]:
        return {
            key: {"shape": list(shape) or None, "dtype": kinds.get(key.rpartition("_")[2], dtype)}
            for key, shape in shapes.items()
        }

    text = f"import torch\n\n\n{reference}\n"
    return {
        "name": name,
        "op_type": name,
        "axes": described,
        "inputs": list_arrays(inputs),
        "outputs": list_arrays(outputs),
        "reference": text,
    }


Open = Callable[[dict[str, Any]], Backend]


@pytest.fixture
def open_definition(tmp_path: Path) -> Iterator[Open]:
    """Return what makes a backend of a definition. Its folder goes with the test."""
    opened = []

    def make(definition: dict[str, Any]) -> Backend:
        path = tmp_path / f"{definition['name']}.json"
        path.write_text(json.dumps(definition))
        opened.append(imported := open_path(path, import_file))
        return build_backend(imported, operations())

    yield make
    for imported in opened:
        imported.folder.cleanup()


ROWS = {"x": ("rows", "width12")}
TAKEN = {
    "softmax": (define("softmax_d12", ROWS, "def run(x):\n    return torch.softmax(x.double(), -1).to(x.dtype)"), "softmax"),
    "silu": (define("silu", ROWS, "def run(x):\n    return torch.nn.functional.silu(x)"), "silu"),
    "swiglu": (
        define("swiglu", ROWS, "def run(x):\n    a, b = x.chunk(2, -1)\n    return a * a.sigmoid() * b", y=("rows", "six6")),
        "gated_activation",
    ),
    "embedding": (
        define("embedding", {"ids": ("n",), "table": ("vocab7", "width12")}, "def run(ids, table):\n    return table[ids]",
            y=("n", "width12")),
        "embedding",
    ),
    "offset": (
        define("gemma_rmsnorm", {"x": ("rows", "width12"), "weight": ("width12",)}, """
def run(x, weight):
    eps = 1e-6
    h = x.double()
    return (h * torch.rsqrt((h * h).mean(-1, keepdim=True) + eps) * (1 + weight.double())).to(x.dtype)"""),
        "rms_norm",
    ),
    "geglu of the tanh form": (
        define("geglu", ROWS, """
def run(x):
    a, b = x.chunk(2, -1)
    return torch.nn.functional.gelu(a, approximate="tanh") * b""", y=("rows", "six6")),
        "gated_activation",
    ),
    "gelu without a form": (
        define("gelu", ROWS, 'def run(x):\n    return torch.nn.functional.gelu(x, approximate="tanh")'),
        "gelu",
    ),
    "norm and sum": (
        define("fused_add_rmsnorm", {"x": ("rows", "width12"), "residual": ("rows", "width12"), "weight": ("width12",)}, """
def run(x, residual, weight):
    total = x.double() + residual.double()
    y = total * torch.rsqrt((total * total).mean(-1, keepdim=True) + 1e-6) * weight.double()
    return y.to(x.dtype), total.to(x.dtype)""", y=("rows", "width12"), updated_residual=("rows", "width12")),
        "add_rms_norm",
    ),
    "rotation by a table": (
        define("rope", {"q": ("tokens", "heads2", "width8"), "k": ("tokens", "one1", "width8"),
                        "cos_sin_cache": ("places", "turned4"), "positions": ("tokens",)}, """
def turn(x, table):
    cos, sin = table[:, None].chunk(2, -1)
    a, b, rest = x[..., :2], x[..., 2:4], x[..., 4:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


def run(q, k, cos_sin_cache, positions):
    return turn(q, cos_sin_cache[positions]), turn(k, cos_sin_cache[positions])""",
            q_out=("tokens", "heads2", "width8"), k_out=("tokens", "one1", "width8")),
        "rope",
    ),
    "rotation by cosines and sines": (
        define("rope_d8", {"q": ("b", "heads2", "n", "width8"), "k": ("b", "few", "n", "width8"),
                           "cos": ("b", "n", "width8"), "sin": ("b", "n", "width8")}, """
def run(q, k, cos, sin):
    def turn(x):
        a, b = x.chunk(2, -1)
        return x * cos[:, None] + torch.cat([-b, a], -1) * sin[:, None]

    return turn(q), turn(k)""", q_out=("b", "heads2", "n", "width8"), k_out=("b", "few", "n", "width8")),
        "rope",
    ),
}  # fmt: skip
TAKEN["rotation by a table"][0]["inputs"]["positions"]["dtype"] = "int64"


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("case", TAKEN)
def test_what_a_definition_means_is_taken_and_conforms(open_definition: Open, case: str) -> None:
    definition, operation = TAKEN[case]
    under_test = open_definition(definition)
    assert under_test.has(operation)
    assert caught_by(under_test, seed=1, only=f"{operation}.reference") == {}


ROUNDED_BEFORE_THE_GAIN = """
def run(x, weight):
    h = x.float()
    unit = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * unit.to(x.dtype)"""


def test_a_reference_that_rounds_its_steps_admits_that(open_definition: Open) -> None:
    """Norms must round once elsewhere. Here the definition's own reference rounds before it multiplies by the gain."""
    shapes = {"x": ("rows", "width12"), "weight": ("width12",)}
    rounds = open_definition(define("rmsnorm_d12", shapes, ROUNDED_BEFORE_THE_GAIN, dtype="bfloat16"))
    assert rounds.admitted_precision("rms_norm") == "eager"
    assert caught_by(rounds, seed=1, only="rms_norm.reference") == {}
    once = ROUNDED_BEFORE_THE_GAIN.replace("weight * unit.to(x.dtype)", "(weight * unit).to(x.dtype)")
    assert open_definition(define("rmsnorm_d12", shapes, once, dtype="bfloat16")).admitted_precision("rms_norm") is None


DECLINED = {
    "dtype": (define("silu", ROWS, "def run(x):\n    return x", dtype="float8_e5m2"), "is stated for float8_e5m2"),
    "capped": (
        define("softmax_capped", ROWS, "def run(x):\n    return torch.softmax(30 * torch.tanh(x / 30), -1)", dtype="bfloat16"),
        "its reference is not softmax",
    ),
    "wrong key": (
        define("rope", {"q": ("b", "h", "n", "d8"), "k": ("b", "h", "n", "d8"), "cos": ("b", "n", "d8"), "sin": ("b", "n", "d8")},
            "def run(q, k, cos, sin):\n    return q, k", q_out=("b", "h", "n", "d8"), k_out=("b", "h", "n", "d8")),
        "its reference is not rope",
    ),
    "reference": (define("softmax", ROWS, "def run(x):\n    return torch.softmax(2 * x, -1)"), "its reference is not softmax"),
    "norm": (
        define(
            "rmsnorm", {"x": ("rows", "width12"), "weight": ("width12",)}, "def run(x, weight):\n    return x * weight + 1e-5"
        ),
        "its reference is not rms_norm",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINED)
def test_a_definition_of_something_else_is_not_judged(open_definition: Open, case: str) -> None:
    definition, sentence = DECLINED[case]
    with pytest.raises(NotTaken, match=sentence):
        open_definition(definition)


RAGGED = """
def run(q, k, v, qo_indptr, kv_indptr, sm_scale):
    out, lse = torch.zeros(*q.shape[:2], v.shape[-1], dtype=q.dtype), torch.zeros(q.shape[:2])
    a, c = qo_indptr.tolist(), kv_indptr.tolist()
    for i in range(len(a) - 1):
        s = torch.einsum("nhd,mhd->hnm", q[a[i] : a[i + 1]].double(), k[c[i] : c[i + 1]].double()) * sm_scale
        n, m = s.shape[1:]
        s = s.masked_fill(~torch.ones(n, m, dtype=torch.bool).tril(m - n), -torch.inf)
        out[a[i] : a[i + 1]] = torch.einsum("hnm,mhe->nhe", s.softmax(-1).nan_to_num(), v[c[i] : c[i + 1]].double()).to(q.dtype)
        lse[a[i] : a[i + 1]] = (s.logsumexp(-1) / BASE).T.float()
    return out, lse
"""


@pytest.mark.parametrize(("base", "value"), [("0.6931471805599453", "2"), ("1", "e")])
def test_both_results_of_ragged_attention_are_tested_and_widths_differ(open_definition: Open, base: str, value: str) -> None:
    starts = {"qo_indptr": ("ends",), "kv_indptr": ("ends",), "sm_scale": ()}
    arrays = {"q": ("nq", "heads2", "width8"), "k": ("nk", "heads2", "width8"), "v": ("nk", "heads2", "wide6")}
    definition = define(
        "ragged", arrays | starts, RAGGED.replace("BASE", base), output=("nq", "heads2", "wide6"), lse=("nq", "heads2")
    )
    for name in ("qo_indptr", "kv_indptr"):
        definition["inputs"][name]["dtype"] = "int32"
    under_test = open_definition(definition)
    assert under_test.convention("lse_base", "attention_with_lse") == value
    for operation in ("variable_length_attention", "attention_with_lse"):
        assert caught_by(under_test, seed=1, only=f"{operation}.reference") == {}
    other = {**definition, "name": "other", "reference": definition["reference"].replace(".softmax(-1)", ".softmax(-1) * 1.5")}
    with pytest.raises(NotTaken):  # a reference that is no attention is not judged
        open_definition(other)


PAGED = """
def run(q, k_cache, v_cache, qo_indptr, kv_indptr, kv_indices, last_page_len, sm_scale):
    out, lse = torch.zeros_like(q), torch.full(q.shape[:2], -torch.inf)
    a, c, size = qo_indptr.tolist(), kv_indptr.tolist(), k_cache.shape[1]
    for i, last in enumerate(last_page_len.tolist()):
        pages = kv_indices[c[i] : c[i + 1]].long()
        k, v = (x[pages].flatten(0, 1)[: (len(pages) - 1) * size + last].double() for x in (k_cache, v_cache))
        s = torch.einsum("nhd,mhd->hnm", q[a[i] : a[i + 1]].double(), k) * sm_scale
        n, m = s.shape[1:]
        s = s.masked_fill(~torch.ones(n, m, dtype=torch.bool).tril(m - n), -torch.inf)
        out[a[i] : a[i + 1]] = torch.einsum("hnm,mhe->nhe", s.softmax(-1).nan_to_num(), v).to(q.dtype)
        lse[a[i] : a[i + 1]] = (s.logsumexp(-1) / 0.6931471805599453).T.float()
    return out, lse
"""


def test_several_queries_of_paged_attention_are_tested_with_both_results(open_definition: Open) -> None:
    integers = ("qo_indptr", "kv_indptr", "kv_indices", "last_page_len")
    pages = ("pages", "slots4", "heads2", "width8")
    arrays = {"q": ("nq", "heads2", "width8"), "k_cache": pages, "v_cache": pages}
    definition = define(
        "gqa_paged_prefill", arrays | {name: (name[:3],) for name in integers} | {"sm_scale": ()}, PAGED,
        output=("nq", "heads2", "width8"), lse=("nq", "heads2"),
    )  # fmt: skip
    for name in integers:
        definition["inputs"][name]["dtype"] = "int32"
    under_test = open_definition(definition)
    assert under_test.convention("lse_base", "attention_with_lse") == "2"
    for operation in ("paged_attention", "attention_with_lse"):
        assert caught_by(under_test, seed=1, only=f"{operation}.reference") == {}


def test_a_folder_with_a_definition_alone_is_tried_with_its_reference(tmp_path: Path) -> None:
    definition, operation = TAKEN["silu"]
    (tmp_path / "definition.json").write_text(json.dumps(definition))
    imported = open_path(tmp_path, import_file)
    assert list(imported.renamed_operations) == [operation]
    imported.folder.cleanup()


def test_a_product_with_a_matrix_that_is_not_transposed_is_linear(tmp_path: Path) -> None:
    """B of (K, N) is as common as B of (N, K)."""
    definition = json.loads((IMPORTED / "flashinfer_bench" / "linear" / "definition.json").read_text())
    definition["inputs"]["B"]["shape"] = ["K", "N"]
    definition["reference"] = "def run(A, B):\n    return A @ B\n"
    (tmp_path / "definition.json").write_text(json.dumps(definition))
    run = suite(tmp_path, "--backend=definition.json", "--effort=smoke", "-k", "linear.reference")
    assert run.code == 0, run.text
    assert "x is A and the weight is the transpose of B" in flatten(run.text)
