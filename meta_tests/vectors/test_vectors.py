"""Test the files of vectors: what they hold, that they catch what they say, and that checkers in other languages read them."""

import itertools
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.in_domain import dimension_sizes
from spec_tests.commands import main
from spec_tests.deviations import OracleBackend, deviations_of, find
from spec_tests.inputs.covering import kind_of_size
from spec_tests.specification.registry import gradients, operations, specification
from spec_tests.trials.collection import invariants
from spec_tests.vectors.candidates import find_candidates
from spec_tests.vectors.cover import OVERHEAD, choose
from spec_tests.vectors.export import Request, build_vectors

from ..support.paths import MEASURED, ROOT
from ..support.plain_checker import is_right, list_required_arrays, read_vectors

CHECKERS = ROOT / "examples" / "vectors"


# --- the choice -------------------------------------------------------------------------------------------------------


def least_cost(kinds: list[frozenset[Hashable]], costs: list[float]) -> float:
    """Return what the cheapest choice costs that is of all kinds, found by trying all."""
    every = frozenset[Hashable]().union(*kinds)
    chosen = itertools.chain.from_iterable(itertools.combinations(range(len(kinds)), k) for k in range(len(kinds) + 1))
    return min(sum(costs[n] for n in c) for c in chosen if frozenset[Hashable]().union(*(kinds[n] for n in c)) == every)


@pytest.mark.parametrize("seed", range(40))
def test_the_choice_is_of_every_kind_and_costs_little(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(1, 8)
    kinds = [frozenset[Hashable](k for k in range(12) if chance.random() < 0.3) for _ in range(count)]
    sizes = [chance.randint(1, 900) for _ in range(count)]
    chosen = choose(kinds, sizes)
    assert frozenset[Hashable]().union(*(kinds[n] for n in chosen)) == frozenset[Hashable]().union(*kinds)
    assert len(chosen) == len(set(chosen))
    costs = [(size + OVERHEAD) ** 0.5 for size in sizes]
    most = max(map(len, kinds))
    assert sum(costs[n] for n in chosen) <= sum(1 / k for k in range(1, most + 1)) * least_cost(kinds, costs) + 1e-9


def test_of_two_of_the_same_kinds_the_smaller_is_chosen_and_of_none_that_is_not_allowed() -> None:
    kinds = [frozenset({"a"}), frozenset({"a"})]
    assert choose(kinds, [7, 3]) == [1]
    assert choose(kinds, [7, 3], lambda number: number != 1) == [0]


@pytest.mark.rotating
@pytest.mark.parametrize("name", [*operations(), *gradients()])
def test_each_class_of_sizes_has_a_vector_of_the_plain_form(name: str) -> None:
    """As far as draws make one, which all but those operations do whose plain form has no result of its own."""
    dtypes = ("float32",) if specification(name).dtype is None else ()

    def list_classes(candidates: Any) -> set[tuple[str, str]]:
        sizes = [dimension_sizes(candidate.call) for candidate in candidates if candidate.is_plain]
        return {(label, kind_of_size(size)) for each in sizes for label, size in each.items()}

    request = Request(dtypes=dtypes)
    vectors = build_vectors(name, request)
    assert vectors is not None
    drawn = [candidate for candidate in find_candidates(name, request.seed, dtypes) if candidate.is_plain]
    assert list_classes(vectors.chosen) == list_classes(drawn) if all(candidate.is_claimed for candidate in drawn) else True
    assert bool(drawn) == any(candidate.is_plain for candidate in vectors.chosen)


# --- the files --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["softmax", pytest.param("rms_norm", marks=pytest.mark.nightly)])
def operation(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def folder(operation: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors")
    assert main(["vectors", f"--export={path}", "--count=4", "--bugs", operation]) == 0
    return path


@pytest.mark.rotating
def test_a_file_catches_what_it_says_and_nothing_right(operation: str, folder: Path) -> None:
    order, laws = list_required_arrays(operation), {test.invariant.id_for(operation) for test in invariants()}
    vectors = read_vectors(folder / f"{operation}.safetensors")
    (record,) = json.loads((folder / "vectors.json").read_text())["operations"]
    assert record["operation"] == operation
    assert record["vectors"] == len(vectors) == record["chosen"] + 4
    assert record["plain"] == sum(about["plain"] == "true" for about, _ in vectors)
    right = getattr(OracleBackend(), operation)
    caught: set[str] = set()
    for about, arrays in vectors:
        assert is_right(right, order, (about, arrays))
        assert arrays["value"].dtype == np.float64
        assert np.all(arrays["low"].astype(float) <= arrays["high"].astype(float))
        assert about["law"] in laws, "a law of this operation, or of another that calls it"
        assert about["class"] in ("fused", "mixed", "eager")
        for name in about["catches"].split():
            assert not is_right(getattr(OracleBackend(find(name)), operation), order, (about, arrays)), (name, about)
            caught.add(name)
    assert len(caught) == record["caught"]
    assert caught.isdisjoint(record["missed"])
    assert len(caught) + len(record["missed"]) == record["deviations"] == len(deviations_of(operation))


@pytest.mark.rotating
def test_every_wrong_equation_is_caught(folder: Path) -> None:
    for record in json.loads((folder / "vectors.json").read_text())["operations"]:
        kinds = record["caught of each kind"]
        for kind in {"equation", "convention"} & kinds.keys():
            caught, count = kinds[kind]
            assert caught >= count - 1, (record["operation"], kind)


ROPE_AND_SWIGLU = {
    "rope": {"layout": ["half"], "attention_factor": [1.0]}
    | {key: [None] for key in ("rotary_dim", "inverse_frequencies", "sections")},
    "swiglu": {key: [None] for key in ("b1", "b2", "b3")},
}


def test_a_domain_leaves_what_an_implementation_can_use(tmp_path: Path) -> None:
    """Keywords at their defaults stand in no file, so what stands there has another value."""
    words = ["--dtype=float32", f"--domain={json.dumps(ROPE_AND_SWIGLU)}"]
    assert main(["vectors", f"--export={tmp_path}", *words, "rope", "swiglu"]) == 0
    arrays = {"rope": {"x", "positions"}, "swiglu": {"x", "w1", "w2", "w3"}}
    for name, taken in arrays.items():
        vectors = read_vectors(tmp_path / f"{name}.safetensors")
        assert len(vectors) > 20
        for about, given in vectors:
            assert set(given) - {"value", "low", "high"} == taken
            assert {key for key in about if key.startswith("keywords.")} <= {"keywords.layout", "keywords.theta"}
            assert about.get("keywords.layout", "half") == "half"
            assert about["plain"] == json.dumps(name == "swiglu")  # of rope, half is not the default
    assert any("keywords.theta" not in about for about, _ in read_vectors(tmp_path / "rope.safetensors"))
    assert json.loads((tmp_path / "vectors.json").read_text())["domain"] == ROPE_AND_SWIGLU


@pytest.mark.rotating
def test_gradients_several_results_and_nested_weights_have_names(tmp_path: Path) -> None:
    names = ["linear_vjp", "attention_with_lse", "transformer_block"]
    assert main(["vectors", f"--export={tmp_path}", "--dtype=float32", *names]) == 0
    found = {name: set(read_vectors(tmp_path / f"{name}.safetensors")[0][1]) for name in names}
    assert any(x.startswith("low.") for x in found["linear_vjp"]) or "low.x" in found["linear_vjp"]
    assert len([x for x in found["attention_with_lse"] if x[:4] == "low."]) == 2
    assert {"weights.w_q", "weights.ffn_norm", "x", "low"} <= found["transformer_block"]


def test_what_cannot_be_exported_is_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for words, sentence in (
        (["softmaxx"], "there is no operation 'softmaxx'. Did you mean softmax"),
        (["--dtype=float8"], "there is no dtype 'float8'"),
        (["--effort=none"], "there is no effort 'none'"),
        (['--domain={"rope": {"layout": ["halves"]}}'], "'halves' is none of interleaved, half"),
        (['--domain={"rope": {"rotary": [4]}}'], "names 'rotary'; did you mean rotary_dim"),
        (['--domain={"swiglu": {"b1": [1]}}'], "'required', and one that no call has is (None,)"),
        (['--domain={"ropes": {}}'], "names 'ropes', which is no operation"),
        (['--domain={"softmax": {"n": [100000], "empty": false}}', "--dtype=float32", "softmax"], "is small enough for a vector"),
        (["--verify=x"], "--verify checks an archive or a folder, and writes none"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["vectors", f"--export={tmp_path}", *words])
        assert end.value.code == 4
        assert sentence in capsys.readouterr().err
    for words in ([f"--export={tmp_path / 'file'}", "--dtype=float32", "alibi_slopes"], []):
        with pytest.raises(SystemExit) as end:
            main(["vectors", *words])
        assert end.value.code == 4


# --- checkers in other languages ----------------------------------------------------------------------------------------

# the checker's file, the programs that it needs, what makes its softmax wrong, and the name of that bug
LANGUAGES = {
    "check.py": ((), ("return [v / total for v in e]", "return e"), "softmax/not-normalized"),
    "check.js": (("node",), ("Math.exp(v - largest)", "Math.exp(v)"), "softmax/no-maximum-subtracted"),
    "check.c": (("cc",), ("expf(x[j] - largest)", "expf(x[j])"), "softmax/no-maximum-subtracted"),
}


@pytest.fixture(scope="module")
def in_float32(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("float32")
    assert main(["vectors", f"--export={path}", "--dtype=float32", "--bugs", "softmax"]) == 0
    return path / "softmax.safetensors"


@pytest.mark.rotating
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_checker_passes_the_right_function_and_names_the_wrong_one(name: str, in_float32: Path, tmp_path: Path) -> None:
    tools, (right, wrong), deviation = LANGUAGES[name]
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"{missing[0]} is not installed")
    text = (CHECKERS / name).read_text()
    assert len(text.splitlines()) < 60
    assert right in text
    for source, code in ((text, 0), (text.replace(right, wrong), 1)):
        path = tmp_path / name
        path.write_text(source)
        if name == "check.c":
            subprocess.run(["cc", "-O2", str(path), "-o", str(tmp_path / "check"), "-lm"], check=True, timeout=120)
        start = {"check.py": [sys.executable, str(path)], "check.js": ["node", str(path)], "check.c": [str(tmp_path / "check")]}[
            name
        ]
        done = subprocess.run([*start, str(in_float32)], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        assert (deviation in done.stdout) == (code == 1)


@pytest.mark.rotating
def test_a_checker_of_plain_functions_uses_what_it_can_and_finds_what_is_wrong(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    text = (CHECKERS / "check_plain.js").read_text()
    assert main(["vectors", f"--export={tmp_path / 'files'}", "--dtype=float32", "rms_norm", "rope", "swiglu"]) == 0
    wrong = {"+ eps)": ")", "Math.exp(-g)": "Math.exp(-1.01 * g)", "(i % 2 ? other : -other)": "(i % 2 ? -other : other)"}
    for changes, code in (({}, 0), (wrong, 1)):
        changed = text
        for old, new in changes.items():
            assert old in changed
            changed = changed.replace(old, new)
        (tmp_path / "check.js").write_text(changed)
        words = ["node", str(tmp_path / "check.js"), str(tmp_path / "files")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        lines = [line for line in done.stdout.splitlines() if " vectors checked, " in line]
        assert [line.endswith(" 0 failed") for line in lines] == [code == 0] * 3
        assert all(int(line.split()[1]) >= 9 for line in lines), "of each at least one for each class of sizes"


def test_the_published_shares_are_those_of_the_data() -> None:
    records = json.loads((MEASURED / "vectors.json").read_text())["operations"]
    text = (MEASURED / "vectors.txt").read_text()
    caught, missed = sum(record["caught"] for record in records), sum(len(record["missed"]) for record in records)
    assert f"{caught} of {caught + missed} bugs of values ({caught / (caught + missed):.1%})" in text
    assert caught >= 0.97 * (caught + missed)
