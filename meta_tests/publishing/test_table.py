"""Test the table of reports of others: who is in it, who is not and why, and that it does not depend on the order of reports."""

import os
import random
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from spec_tests.commands import main
from spec_tests.publishing import signed_report
from spec_tests.publishing.collection import Collection, Refused, collect, list_columns, split_numbers
from spec_tests.publishing.signed_report import SignedReport
from spec_tests.publishing.table import build_table, list_claims
from spec_tests.report.signature import Signer

from ..support.handmade_reports import failed, verdict
from ..support.hostile_text import Elements
from ..support.signed_reports import build_signed, make_key, needs_ssh, rewrite, write_signed, write_signers

pytest.importorskip("jinja2")
BERT = Signer("bert@example.org", "ED25519", f"SHA256:{'b' * 43}")


def build(*reports: SignedReport, refused: tuple[Refused, ...] = ()) -> dict[str, bytes]:
    return build_table(Collection(reports, refused), b"signers\n")


def words_of(page: bytes) -> str:
    return " ".join(" ".join(Elements(page.decode()).words).split())


def list_marks(page: bytes) -> dict[str, str]:
    """Return the state of each mark of the table, by what it says."""
    links = [attributes for attributes in Elements(page.decode()).find("a") if "mark-of" in (attributes.get("class") or "")]
    return {str(link["aria-label"]): str(link["class"]).removeprefix("mark-of ") for link in links}


# --- who is in it -----------------------------------------------------------------------------------------------------


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Path]:
    return {name: make_key(tmp_path, name) for name in ("anna", "bert", "mallory")}


@pytest.fixture
def signers(tmp_path: Path, keys: dict[str, Path]) -> Path:
    return write_signers(tmp_path / "signers", anna=keys["anna"], bert=keys["bert"])


@pytest.fixture
def reports(tmp_path: Path, keys: dict[str, Path]) -> Path:
    """Return a folder with two good reports, and some that are not to be trusted."""
    folder = tmp_path / "reports"
    write_signed(folder / "mine" / "1.0", keys["anna"], failed("relu.reference"), backend={"version": "1.0"})
    good = write_signed(folder / "mine" / "1.1", keys["bert"], verdict("relu.reference"), backend={"version": "1.1"})
    write_signed(folder / "stranger", keys["mallory"], verdict())
    write_signed(folder / "together", keys["anna"], verdict(), isolate=False)
    write_signed(folder / "changed", keys["anna"], failed("silu.reference"))
    data = folder / "changed" / "report.jsonl"
    data.write_bytes(rewrite(data.read_bytes(), lambda records: [*records[:2], *records[3:]]))
    shutil.copytree(good, folder / "unsigned")
    (folder / "unsigned" / "report.jsonl.sig").unlink()
    shutil.copytree(good, folder / "again")
    (good / "index.html").write_text("<script>the publisher's own page</script>")
    return folder


REASONS = {
    "stranger": "is signed by nobody whom",
    "together": "shared the process of its judge",
    "changed": "is not what anna@example.org has signed",
    "unsigned": "has no signature",
    "mine/1.1": "is the report that .*again/report.jsonl is, signed by bert@example.org",
}


@needs_ssh
def test_who_is_not_in_the_table_is_named_with_the_reason(tmp_path: Path, reports: Path, signers: Path, capsys: Any) -> None:
    command = ["collect", str(reports), f"--signers={signers}", "-o", str(tmp_path / "table")]
    assert main(command) == 1
    printed = capsys.readouterr()
    page = (tmp_path / "table" / "index.html").read_bytes()
    lines = printed.err.splitlines()
    assert len(lines) == len(REASONS)
    listed = words_of(page).partition("5 reports are not in the table:")[2]
    for name, reason in REASONS.items():
        assert [line for line in lines if re.search(f"{reports / name}/report.jsonl .*{reason}", line)], (name, printed.err)
        assert re.search(f"{reports / name}/report.jsonl : .*{reason}", listed), listed
    assert printed.out.endswith("index.html: 2 reports, 5 refused\n")
    assert main([*command, "--partial"]) == 0
    assert set(list_marks(page).values()) == {"deviates", "fused"}
    assert b"the publisher" not in b"".join(path.read_bytes() for path in (tmp_path / "table").rglob("*.html"))


@needs_ssh
def test_nothing_is_parsed_before_its_signature_is_right(
    tmp_path: Path, reports: Path, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []
    read_data = signed_report.read_data
    monkeypatch.setattr(signed_report, "read_data", lambda data, path: [parsed.append(path), read_data(data, path)][1])
    (reports / "stranger" / "report.jsonl").write_text("[" * 100_000)
    collection = collect([reports], signers, tmp_path / "none")
    assert {path.parent.relative_to(reports).as_posix() for path in parsed} == {"mine/1.0", "mine/1.1", "again", "together"}
    assert len(collection.refused) == 5


@needs_ssh
def test_a_folder_without_reports_and_a_pipe_are_refused(tmp_path: Path, signers: Path, capsys: Any) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "empty" / "report.jsonl")
    assert main(["collect", str(tmp_path / "empty"), f"--signers={signers}", "-o", str(tmp_path / "table")]) == 4
    assert "holds no report.jsonl" in capsys.readouterr().err
    assert main(["collect", str(tmp_path), f"--signers={tmp_path / 'none'}", "-o", str(tmp_path / "table")]) == 4
    assert "there is no file" in capsys.readouterr().err
    assert not (tmp_path / "table").exists()


@needs_ssh
def test_the_order_of_reports_and_folders_is_not_seen(tmp_path: Path, reports: Path, signers: Path) -> None:
    """Neither is a table that was written into one of the folders before."""
    places, tables = [path for path in sorted(reports.iterdir()) if path.name != "again"], []
    draw = random.Random(1)
    for _ in range(3):
        draw.shuffle(places)
        tables.append(build_table(collect(places, signers, tmp_path / "none"), b""))
    assert tables[0] == tables[1] == tables[2]
    output = reports / "mine" / "table"
    assert main(["collect", *map(str, places), f"--signers={signers}", "-o", str(output), "--partial"]) == 0
    again = build_table(collect(places, signers, output), signers.read_bytes())
    assert {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()} == {*again}
    assert all((output / name).read_bytes() == data for name, data in again.items())


@needs_ssh
def test_each_report_of_a_table_can_be_checked(tmp_path: Path, reports: Path, signers: Path) -> None:
    assert main(["collect", str(reports), f"--signers={signers}", "-o", str(tmp_path / "table"), "--partial"]) == 0
    folders = sorted((tmp_path / "table" / "reports").iterdir())
    assert [re.sub(r"-[0-9a-f]{64}$", "", folder.name) for folder in folders] == ["mine-1.0", "mine-1.1"]
    for folder in folders:
        assert main(["publish", str(folder), f"--signers={signers}", "--check"]) == 0


# --- what it says -----------------------------------------------------------------------------------------------------


def test_a_mark_claims_no_more_than_the_report() -> None:
    """At smoke effort, and of a part of the laws, nothing conforms."""
    little = verdict("gelu.reference", answered=2, unexplained=126, refusals=[["backend", "no", 126]])
    good = [verdict("relu.reference"), verdict("silu.reference", **{"class": "eager"}), failed("tanh.reference"), little]
    marks = list_marks(build(build_signed(*good))["index.html"])
    said = {label.split(", ")[1]: (state, label.partition("float32: ")[2]) for label, state in marks.items()}
    assert said == {
        "relu": ("fused", "conforms, class fused; largest share of the allowed error 0.25"),
        "silu": ("eager", "conforms, class eager; largest share of the allowed error 0.25"),
        "tanh": ("deviates", "deviates, 1 of 1 laws fail"),
        "gelu": ("little", "answered 2 of 128 examples, too few to conform; largest share of the allowed error 0.25"),
    }
    for header in ({"effort": "smoke"}, {"selection": {"keyword": "relu"}}):
        marks = list_marks(build(build_signed(verdict(), **header))["index.html"])
        assert [*marks.values()] == ["held"]
        assert "no claim of conformance" in next(iter(marks))


def test_each_link_of_the_folder_leads_to_a_file_and_a_place_in_it() -> None:
    """It needs no other host."""
    old = build_signed(failed("relu.reference"), verdict("silu.reference"), backend={"version": "0.9"})
    new = build_signed(verdict("relu.reference"), verdict("softmax_vjp.reference"))
    files, seen = build(old, new), 0
    for name, data in files.items():
        if not name.endswith(".html"):
            continue
        elements = Elements(data.decode())
        assert not any("src" in attributes for _, attributes in elements.found)
        assert b"url(" not in data
        for link in elements.find("a"):
            address, _, place = str(link["href"]).partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), address)) if address else name
            assert target in files, (name, address)
            ids = {attributes.get("id") for _, attributes in Elements(files[target].decode()).found} if place else set()
            assert not place or unquote(place) in ids, (name, place)
            seen += 1
    assert seen > 40
    assert {re.sub(r"[0-9a-f]{64}", "#", name) for name in files if name.startswith("changes")} == {"changes/#-#.html"}


def test_reports_of_one_library_and_version_are_told_apart() -> None:
    base = build_signed(verdict())
    others = {
        "device": build_signed(verdict(), backend={"device": "cuda"}),
        "effort": build_signed(verdict(), effort="thorough"),
        "seed": build_signed(verdict(), seed="5"),
        "machine": build_signed(verdict(), platform="another OS"),
        "signer": build_signed(verdict(examples=129), signer=BERT),
        "commit of the suite": build_signed(verdict(), commit="c" * 40),
        "began": build_signed(verdict(), started="2026-02-02T03:04:05+00:00"),
        "SHA-256": build_signed(verdict(examples=130)),
    }
    for name, other in others.items():
        (claims,) = list_claims(Collection((base, other), ()))
        told = [claims.tell_apart(column) for column in claims.columns]
        assert [[*each] for each in told] == [[name], [name]]
        assert told[0] != told[1]
    (claims,) = list_claims(Collection((base, *others.values()), ()))
    labels = [tuple(claims.tell_apart(column).items()) for column in claims.columns]
    assert len(set(labels)) == len(labels) == 9
    (claims,) = list_claims(Collection((base, build_signed(verdict(), backend={"version": "2"})), ()))
    assert [claims.tell_apart(column) for column in claims.columns] == [{}, {}]


def test_versions_of_the_suite_have_tables_of_their_own() -> None:
    old, new = build_signed(verdict(), suite="0.9.0", spec="1.9"), build_signed(verdict(), suite="0.10.0", spec="1.10")
    assert [(claim.suite, claim.spec) for claim in list_claims(Collection((old, new), ()))] == [
        ("0.10.0", "1.10"),
        ("0.9.0", "1.9"),
    ]
    page = build(old, new)["index.html"]
    assert "a verdict of another version is not the same claim" in words_of(page)
    assert page.count(b'<table class="matrix collected">') == 2
    one = words_of(build(old)["index.html"])
    assert "not the same claim" not in one
    commits = words_of(build(build_signed(verdict(), commit="a" * 40), build_signed(verdict(), commit="b" * 40))["index.html"])
    assert f"The suite was at 2 commits: {'a' * 40}, {'b' * 40}." in commits


def test_a_table_without_reports_says_so() -> None:
    told = words_of(build(refused=(Refused(Path("a"), "a has no signature"),))["index.html"])
    assert "No report was accepted, so there is no table." in told
    assert "1 report is not in the table: a : a has no signature" in told


def test_versions_are_sorted_as_people_do() -> None:
    versions = ["1.10", "1.9", "2", "1.9rc1", "0010", "", "abc", "9" * 5000]
    assert sorted(versions, key=split_numbers) == ["", "1.9", "1.9rc1", "1.10", "2", "0010", "9" * 5000, "abc"]


def test_the_columns_are_those_of_the_backends() -> None:
    signed = build_signed(verdict(), verdict(backend="other"))
    assert [column.library for column in list_columns(signed)] == ["mine", "other"]
    assert list_columns(signed)[1].version == "of an unknown version"
