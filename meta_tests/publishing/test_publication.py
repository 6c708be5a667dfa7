"""Test that a signed report of an isolated run is published, that anybody can check it, and that any other is refused."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spec_tests.commands import main
from spec_tests.publishing.publication import build_files
from spec_tests.report import format_record, read
from spec_tests.report.signature import sign

from ..support.handmade_reports import FOOTER, HEADER, failed, verdict
from ..support.hostile_text import Elements
from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, RELU, environment, python, suite, write
from ..support.signed_reports import build_data, build_signed, make_key, needs_ssh, rewrite, write_signed, write_signers

pytest.importorskip("jinja2")
FILES = {"index.html", "badge.json", "badge.svg", "report.jsonl", "report.jsonl.sig", "allowed_signers"}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_key(tmp_path, "key")


@pytest.fixture
def signers(tmp_path: Path, key: Path) -> Path:
    return write_signers(tmp_path / "signers", anna=key)


def list_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def words_of(page: Path) -> str:
    return " ".join(" ".join(Elements(page.read_text(encoding="utf-8")).words).split())


# --- a real run -------------------------------------------------------------------------------------------------------


@needs_ssh
def test_a_real_run_is_published_and_anybody_can_check_it(tmp_path: Path, key: Path, signers: Path) -> None:
    """The page says what a reader has to know, and its two commands do what it says."""
    write(tmp_path, mine=NUMPY + RELU + '\nversion = "1.2"\n')
    options = ("--effort=smoke", "--isolate", "--hypothesis-seed=7", "--report=verdict", "-k", "relu")
    assert suite(tmp_path, "--backend=mine.py", *options).code == 0
    assert main(["report", str(tmp_path / "verdict"), f"--sign={key}"]) == 0
    public = tmp_path / "public"
    assert main(["publish", str(tmp_path / "verdict"), f"--signers={signers}", "-o", str(public)]) == 0
    assert list_files(public) == FILES
    header = read(public).header
    listed = subprocess.run(["ssh-keygen", "-l", "-f", str(key)], capture_output=True, text=True, check=True)
    told = words_of(public / "index.html")
    fingerprint = listed.stdout.split()[1]
    for fact in ('mine , version "1.2"', "anna@example.org", fingerprint, "device cpu", "effort smoke", "seed 7", header.started):
        assert fact in told, fact
    for fact in (header.commit, header.suite, f"spec {header.spec}", header.machine, header.platform):
        assert fact in told, fact
    assert re.fullmatch(r"[0-9a-f]{40}\+?", header.commit) or not (ROOT / ".git").exists()
    by_ssh, by_suite = re.findall(r'<pre tabindex="0">(.*?)</pre>', (public / "index.html").read_text())[:2]
    shell = by_ssh.replace("&lt;", "<")
    done = subprocess.run(["sh", "-c", shell], cwd=public, capture_output=True, text=True, check=False)
    assert (done.returncode, fingerprint in done.stdout) == (0, True), done.stderr
    checked = python(public, "-m", "spec_tests", *by_suite.split()[1:], env=environment(ROOT))
    assert checked.returncode == 0, checked.stderr
    assert f"signed by anna@example.org with the ED25519 key {fingerprint}" in checked.stdout


@needs_ssh
@pytest.mark.rotating
def test_a_run_in_one_process_is_not_published(tmp_path: Path, key: Path, signers: Path, capsys: Any) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    assert suite(tmp_path, "--backend=mine.py", "--effort=smoke", "--report=verdict", "-k", "relu.reference").code == 0
    sign(str(tmp_path / "verdict"), key)
    assert main(["publish", str(tmp_path / "verdict"), f"--signers={signers}", "-o", str(tmp_path / "public")]) == 4
    assert "in which mine shared the process of its judge" in capsys.readouterr().err
    assert not (tmp_path / "public").exists()


@pytest.mark.rotating
def test_a_server_and_ranks_run_apart_without_an_option(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text((ROOT / "meta_tests" / "earlier_versions" / "c956b87" / "server.py").read_text())
    shards = 'world_size, shards = 2, {"swiglu": {"w2": 1}}'
    write(tmp_path, ranks=f"{NUMPY}\n{shards}\n{RELU}", plain=NUMPY + RELU)
    options = ("--effort=smoke", "-k", "relu.reference", "--dtype=float32")
    apart = (f"--backend=process:{sys.executable} server.py", "--backend=ranks.py")
    assert suite(tmp_path, *apart, *options, "--report=apart").code == 0
    report = read(tmp_path / "apart")
    assert (len(report.backends), report.header.isolate, report.shared) == (2, False, [])
    assert suite(tmp_path, *apart, "--backend=plain.py", *options, "--report=mixed").code == 0
    assert read(tmp_path / "mixed").shared == ["plain"]
    assert suite(tmp_path, "--backend=plain.py", f"--python={sys.executable}", *options, "--report=other").code == 0
    assert read(tmp_path / "other").shared == []


def test_what_a_report_states_says_who_ran_apart() -> None:
    together = build_signed(verdict(), isolate=False).report
    assert together.shared == ["mine"]
    assert build_signed(verdict(), isolate=False, backend={"isolated": True}).report.shared == []
    assert build_signed(verdict(), verdict(backend="other"), isolate=False, backend={"isolated": True}).report.shared == ["other"]


# --- what is refused --------------------------------------------------------------------------------------------------


def drop_links(data: bytes) -> bytes:
    """Return the data as an earlier version wrote them."""
    records = [json.loads(line) for line in data.splitlines()]
    for record in records:
        record.pop("before", None)
    records[-1].pop("sha256")
    return "".join(map(format_record, records)).encode()


def with_footer(**other: Any) -> Callable[[bytes], bytes]:
    return lambda data: rewrite(data, lambda records: [*records[:-1], {**records[-1], **other}])


def with_header(**other: Any) -> Callable[[bytes], bytes]:
    return lambda data: rewrite(data, lambda records: [{**records[0], **other}, *records[1:]])


UNFIT = {  # how a report that somebody then signs is not fit to be published, and what is said of it
    "no footer": (lambda data: b"".join(data.splitlines(keepends=True)[:-1]), r"is not finished \(killed, or still running\)"),
    "cut": (with_footer(complete=False, reason="interrupted"), r"is not finished \(interrupted\).*--resume tries the rest"),
    "no links": (drop_links, "has no whole chain of hashes"),
    "one process": (with_header(isolate=False), "in which mine shared the process of its judge.*run BACKEND --isolate"),
    "a verdict changed": (lambda data: data.replace(b'"passed", "reason"', b'"failed", "reason"', 1), "was changed after"),
    "no report": (lambda data: b"{}\n", "is no report of this suite"),
    "nothing": (lambda data: b"", "is no report of this suite: its first line is no header"),
}  # fmt: skip


@needs_ssh
@pytest.mark.parametrize("kind", UNFIT)
def test_what_is_not_fit_is_refused_in_one_sentence(kind: str, tmp_path: Path, key: Path, signers: Path, capsys: Any) -> None:
    """It is signed after the change, so that nothing but its content can be the reason."""
    change, reason = UNFIT[kind]
    (folder := tmp_path / "verdict").mkdir()
    file = folder / "report.jsonl"
    file.write_bytes(change(build_data(verdict(), verdict("silu.reference"))))
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "spec-tests-report", "-f", str(key), str(file)], check=True)
    status = main(["publish", str(folder), f"--signers={signers}", "-o", str(tmp_path / "public")])
    said = capsys.readouterr().err
    assert (status, said.count("\n")) == (4, 1), said
    assert re.search(f"^ERROR: .*{reason}", said), said
    assert not (tmp_path / "public").exists()


@needs_ssh
def test_who_may_not_sign_is_refused_in_one_sentence(tmp_path: Path, key: Path, signers: Path, capsys: Any) -> None:
    folder, public = write_signed(tmp_path / "verdict", key, verdict()), tmp_path / "public"

    def refuse(file: Path = signers) -> str:
        assert main(["publish", str(folder), f"--signers={file}", "-o", str(public)]) == 4
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert not public.exists()
        return str(said)

    stranger = make_key(tmp_path, "stranger")
    assert "is signed by nobody whom" in refuse(write_signers(tmp_path / "others", bert=stranger))
    assert "there is no file" in refuse(tmp_path / "none")
    data = folder / "report.jsonl"
    honest = data.read_bytes()
    data.write_bytes(rewrite(honest, lambda records: [*records[:2], {**records[2], "examples": 129}, *records[3:]]))
    assert "is not what anna@example.org has signed" in refuse()
    data.write_bytes(honest)
    (folder / "report.jsonl.sig").write_text("no signature\n")
    assert "is signed by nobody whom" in refuse()
    (folder / "report.jsonl.sig").unlink()
    assert re.search(r"has no signature.*spec-tests report .* --sign=KEY", refuse())
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", str(key), str(data)], check=True)
    assert "is not what anna@example.org has signed" in refuse()  # but for another purpose


@needs_ssh
def test_a_folder_with_other_files_is_refused(tmp_path: Path, key: Path, signers: Path, capsys: Any) -> None:
    folder = write_signed(tmp_path / "verdict", key, verdict())
    (public := tmp_path / "public").mkdir()
    (public / "old.html").write_text("")
    command = ["publish", str(folder), f"--signers={signers}", "-o", str(public)]
    assert main(command) == 4
    assert "holds old.html, which this command does not write" in capsys.readouterr().err
    assert list_files(public) == {"old.html"}
    (public / "old.html").unlink()
    assert [main(command), main(command)] == [0, 0]  # what it has written itself it writes again
    (tmp_path / "file").write_text("")
    assert main([*command[:-1], str(tmp_path / "file" / "public")]) == 4
    assert "cannot be written" in capsys.readouterr().err


# --- a published folder that was changed ------------------------------------------------------------------------------


def change_record(kind: str, **other: Any) -> Callable[[Path], None]:
    """Return what changes the first record of a kind in a folder, with every hash computed again."""

    def change(folder: Path) -> None:
        def replace(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
            place = next(i for i, record in enumerate(records) if record["record"] == kind)
            return [*records[:place], {**records[place], **other}, *records[place + 1 :]]

        (folder / "report.jsonl").write_bytes(rewrite((folder / "report.jsonl").read_bytes(), replace))

    return change


def remove_record(folder: Path) -> None:
    data = (folder / "report.jsonl").read_bytes()
    (folder / "report.jsonl").write_bytes(rewrite(data, lambda records: [*records[:2], *records[3:]]))


def edit(name: str, before: str, after: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert before in text
        (folder / name).write_text(text.replace(before, after, 1), encoding="utf-8")

    return change


def sign_by_a_stranger(folder: Path) -> None:
    sign(str(folder), make_key(folder.parent, "stranger"))


def name_a_stranger(folder: Path) -> None:
    write_signers(folder / "allowed_signers", anna=make_key(folder.parent, "stranger"))


def name_the_signer_otherwise(folder: Path) -> None:
    edit("allowed_signers", "anna@", "bert@")(folder)


CHANGED = {
    "one verdict": (change_record("verdict", status="passed", reason="", failure=None, causes=[]), "is not what anna@"),
    "one verdict, carelessly": (edit("report.jsonl", '"failed", "reason"', '"passed", "reason"'), "is not what anna@example.org"),
    "the footer": (change_record("footer", exit_status=0, examples=1), "is not what anna@example.org has signed"),
    "a record less": (remove_record, "is not what anna@example.org has signed"),
    "the header": (change_record("header", effort="thorough"), "is not what anna@example.org has signed"),
    "the signature": (edit("report.jsonl.sig", "U1NIU0", "U1NIU1"), "is signed by nobody whom"),
    "another's signature": (sign_by_a_stranger, "is signed by nobody whom"),
    "the signers": (name_a_stranger, "is signed by nobody whom .*allowed_signers names"),
    "the signer's name": (name_the_signer_otherwise, "as that of bert@example.org"),
    "the page": (edit("index.html", "1 of 1 operations deviates", "1 operation conforms"), "index.html is not what"),
    "the badge": (edit("badge.json", "red", "brightgreen"), "badge.json is not what"),
    "the badge's picture": (edit("badge.svg", "deviates", "conforms"), "badge.svg is not what"),
    "a file more": (lambda folder: (folder / "more.html").write_text(""), "more.html is not what"),
    "a file less": (lambda folder: (folder / "badge.svg").unlink(), "badge.svg is not what"),
    "no signers": (lambda folder: (folder / "allowed_signers").unlink(), "there is no file .*allowed_signers"),
}  # fmt: skip


@needs_ssh
@pytest.mark.parametrize("kind", CHANGED)
def test_a_change_of_what_was_published_is_seen(kind: str, tmp_path: Path, key: Path, signers: Path, capsys: Any) -> None:
    """The reader has a file of signers of their own."""
    public = tmp_path / "public"
    folder = write_signed(tmp_path / "verdict", key, failed(), footer={**FOOTER, "exit_status": 1})
    assert main(["publish", str(folder), f"--signers={signers}", "-o", str(public)]) == 0
    command = ["publish", str(public), f"--signers={signers}", "--check"]
    assert main(command) == 0
    change, said = CHANGED[kind]
    change(public)
    capsys.readouterr()
    assert main(command) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.search(f"^ERROR: .*{said}", printed.err, re.MULTILINE), printed.err


# --- what is written --------------------------------------------------------------------------------------------------


def test_the_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    """Neither the folder, nor the process, nor the order of sets is seen in them."""
    script = (
        "import hashlib; from meta_tests.support.signed_reports import build_signed;"
        " from meta_tests.support.handmade_reports import failed, verdict;"
        " from spec_tests.publishing.publication import build_files;"
        " records = [failed(), *(verdict(f'{name}.reference') for name in ('silu', 'gelu', 'softmax', 'rms_norm'))];"
        " print({n: hashlib.sha256(d).hexdigest() for n, d in build_files(build_signed(*records), b'signers').items()})"
    )
    printed = {
        python(folder, "-c", script, env=environment(ROOT, PYTHONHASHSEED=seed)).stdout
        for folder, seed in ((tmp_path, "1"), (ROOT, "2"))
    }
    assert len(printed) == 1
    assert "index.html" in printed.pop()


def test_the_badges_say_one_thing() -> None:
    for records, header, tone in (
        ([verdict()], {}, "2e7d32"),
        ([failed()], {}, "b4232a"),
        ([verdict()], {"effort": "smoke"}, "6b7280"),
    ):
        files = build_files(build_signed(*records, **header), b"")
        message = json.loads(files["badge.json"])["message"]
        picture = files["badge.svg"].decode()
        assert f"spec_tests: {message}" in picture
        assert tone in picture


def test_a_report_without_a_commit_or_a_seed_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(build_files(build_signed(verdict(), seed=None), b"")["index.html"])
    told = words_of(tmp_path / "a.html")
    assert "commit not recorded" in told
    assert "drawn anew, so that no other run draws the same examples" in told
    assert "commit" not in HEADER
    changed = build_files(build_signed(verdict(), commit=f"{'a' * 40}+"), b"")["index.html"].decode()
    assert "with other changes" in changed
