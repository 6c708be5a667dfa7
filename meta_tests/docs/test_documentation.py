"""Test that what the documentation names exists, and that its examples do what it says."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from spec_tests.specification.registry import gradients, operations

from ..support.docs_scripts import import_script
from ..support.in_process import invariants
from ..support.paths import DOCS, ROOT
from ..support.pytest_process import environment, python, suite
from ..support.rotation import rotate
from ..support.sphinx_extensions import import_extension


def list_ids() -> set[str]:
    """Return the ids of all invariants; those of every operation, once for each operation."""
    return {
        t.invariant.id_for(op)
        for t in invariants()
        for op in {"operation": operations(), "gradient": gradients()}.get(t.invariant.operations[0], ("",))
    }


def test_the_sources_name_invariants_that_exist() -> None:
    named = set(re.findall(r"`([a-z_]+\.(?!py`)[a-z_]+)`", (DOCS / "sources.md").read_text()))
    assert named - list_ids() == set()


def test_the_sources_name_every_operation() -> None:
    text = (DOCS / "sources.md").read_text()
    assert [op for op in operations() if f"`{op}" not in text and op != "embedding"] == []


def test_no_deviation_cites_a_thread_that_is_listed_as_left_out() -> None:
    section = (DOCS / "deviations.md").read_text().partition("## Threads about serving attention")[2].partition("\n## ")[0]
    left_out = set(re.findall(r"\((https://github\.com/[^)]+)\)", section))
    cited = {
        url
        for path in (ROOT / "spec_tests" / "deviations").glob("*.py")
        for url in re.findall(r'"(https://[^"]+)"', path.read_text())
    }
    assert len(left_out) > 10
    assert left_out & cited == set()


def save_first_example(page: Path, folder: Path) -> None:
    """Save the page's first block of Python as the file that the block's first line names."""
    block = page.read_text().partition("```python\n")[2].partition("```")[0]
    (folder / block.splitlines()[0].removeprefix("# ")).write_text(block)


@pytest.mark.rotating
@pytest.mark.parametrize(("page", "conforms"), [(ROOT / "README.md", False), (DOCS / "backends.md", True)])
def test_the_first_backend_of_a_page_does_what_the_page_says(page: Path, conforms: bool, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    save_first_example(page, tmp_path)
    run = suite(tmp_path, "--backend=my_backend.py", "--effort=default", "-k", "rms_norm.reference and float32")
    assert run.code == (0 if conforms else 1)
    assert ("my_backend breaks rms_norm.reference" in run.text) is not conforms


def test_every_link_of_a_checkout_leads_to_a_file() -> None:
    """Pages are also read where they are: what only a build of the site writes is not there."""
    pages = [path for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")) if not {"_build", "operations"} & set(path.parts)]
    links = [(path, link) for path in pages for link in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", path.read_text())]
    assert len(links) > 300
    assert [f"{path.relative_to(ROOT)}: {link}" for path, link in links if not (path.parent / link).exists()] == []


def test_on_the_site_a_link_to_an_equation_leads_to_the_page_of_its_operation() -> None:
    source = ["[a](../../reference_numpy/softmax.py), [all](../../reference_numpy/), [b](verdict.md)"]
    import_extension("operation_pages").link_to_pages(None, "guides/student", source)
    assert source == ["[a](../operations/softmax.md), [all](../operations/index.md), [b](verdict.md)"]


# --- guides -----------------------------------------------------------------------------------------------------------

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHECKOUT = ("reference_numpy", "spec_tests", "backends", "meta_tests")
NUMBER = r"(?:-?\b\d[\d.]*(?:e[+-]?\d+)?|-?(?:np\.)?\b(?:inf|nan)\b|\.\.\.)"
DRAWN = ("--hypothesis-profile=default", "--hypothesis-seed=1")  # with CI set, Hypothesis's profile ignores the seed
PLUGIN = ("-m", "pytest", "-p", "spec_tests.plugin", "-p", "no:cacheprovider", *DRAWN)
LEADING = {"pytest": PLUGIN, "spec-tests": ("-m", "spec_tests")}


def collapse_spaces(text: str) -> str:
    """Replace spaces by one, and leave out what depends on the machine: which parts of the confinement its kernel allows."""
    return re.sub("(the kernel's process had: ).*", r"\1", re.sub(" +", " ", text))


def mask_numbers(text: str) -> str:
    """Replace each list of numbers by #, each array by [#] and the size of each error by one word.

    They depend on the example, which is shrunk within a time limit: a busy machine may show a larger one, or one with nan.
    """
    masked = re.sub(rf"{NUMBER}(, {NUMBER})*", "#", collapse_spaces(text))
    masked = re.sub(r"\[(?=[\[#])[\[\]#, ]*\]", "[#]", masked)
    return re.sub(r"^( *error) #.*$", r"\1 #", masked, flags=re.MULTILINE)


def test_masked_texts_do_not_depend_on_the_example() -> None:
    """These are the lines of one bug, with an example that was shrunk to its end and with one that was not."""
    small = "x = [[0.0, 1.5]]\n expected 0.5\n got 1.0\n error 0.5 = 4e+05 x the bound, 2 ulp of float32\n np.array([0.0, 1.5])"
    large = "x = [[-inf], [0.0], ...]\n expected 1.0\n got nan\n error nan\n np.array([[-np.inf], [0.0]])"
    assert mask_numbers(small) == mask_numbers(large)
    assert mask_numbers(small) != mask_numbers(small.replace("error", "bound"))
    assert mask_numbers("a name, not 1 number... and info") == "a name, not # number# and info"


def run_command(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a page: pytest, Python or the suite with this Python, and other programs by a shell."""
    command = shlex.split(text.replace("python -m pytest", "pytest"))
    if command[0] in (*LEADING, "python"):
        args = (*LEADING.get(command[0], ()), *command[1:])
        return python(folder, *args, env=environment(folder if (folder / "spec_tests").exists() else ROOT))
    if "ssh-keygen" in text and shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    return subprocess.run(["sh", "-c", text], cwd=folder, capture_output=True, text=True, check=True)


def follow(page: Path, folder: Path) -> None:
    """Save each block of Python as the file that its first line names, run each command, and compare its output with the page."""
    by_hand = re.sub(r"<!-- ([\w ]+): written by .*?<!-- end of \1 -->", "", page.read_text(), flags=re.DOTALL)
    for language, text in BLOCK.findall(by_hand):
        first, _, rest = text.partition("\n")
        if language == "python":
            path = folder / first.removeprefix("# ")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif language == "yaml":
            pytest.importorskip("yaml").safe_load(text)
        else:
            assert language == "console"
            done = run_command(first.removeprefix("$ "), folder)
            normalize = mask_numbers if " breaks " in rest or " laws " in rest else collapse_spaces
            printed = normalize(done.stdout)
            for line in rest.splitlines():
                _, found, printed = printed.partition(normalize(line))
                assert found, f"{first} does not print {line!r}, or not there:\n{done.stdout}{done.stderr}"


GUIDES = [path.relative_to(DOCS).as_posix() for path in (*sorted((DOCS / "guides").glob("*.md")), DOCS / "conventions.md")]


@pytest.mark.parametrize("name", rotate(GUIDES, one_in=8))
def test_a_guide_does_what_it_says(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    page = DOCS / name
    assert "```console" in page.read_text()
    if "# spec_tests/" in page.read_text():  # the guide adds files to a checkout
        for part in CHECKOUT:
            shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    follow(page, tmp_path)


SHORT = ("one_kernel", "few_bits", "students_file", "library", "model", "first_ci", "written_by_a_model", "publish", "collect")


@pytest.mark.parametrize("name", SHORT)
def test_each_thing_that_a_reader_may_have_has_a_short_guide(name: str) -> None:
    text = (DOCS / "guides" / f"{name}.md").read_text()
    assert text.startswith(("# I have ", "# I want ", "# I let "))
    assert "```console\n$ " in text
    assert len(re.sub(r"^```yaml.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()) < 100
    assert f"](docs/guides/{name}.md)" in (ROOT / "README.md").read_text()


# --- the five verdicts ------------------------------------------------------------------------------------------------


@pytest.mark.rotating
def test_the_five_verdicts_are_those_of_their_command() -> None:
    """Where this fails, run `python docs/five_verdicts.py`. Numbers may differ: they depend on versions."""
    script = import_script("five_verdicts")
    assert mask_numbers(script.write_section()) == mask_numbers(script.read_section())


def test_each_of_the_five_verdicts_says_operation_cause_dtype_and_next_command() -> None:
    script = import_script("five_verdicts")
    parts = re.split(r"^### ", script.read_section(), flags=re.MULTILINE)[1:]
    assert len(parts) == len(script.VERDICTS) == 5
    for verdict, part in zip(script.VERDICTS, parts, strict=True):
        _, _, code, _, _, printed, conclusion = BLOCK.split(part)
        closing = printed.partition(f"\n{verdict.name}: ")[2]
        assert verdict.law.partition(".")[0] in closing
        assert "float32" in printed
        assert re.search(r"^next: \S+", closing, re.MULTILINE)
        assert verdict.code.strip() in code
        assert verdict.conclusion.strip() in conclusion
        assert all(words in printed for words in re.findall(r"`([\w .]+)`", verdict.conclusion) if words not in ("-k", "x * x"))
