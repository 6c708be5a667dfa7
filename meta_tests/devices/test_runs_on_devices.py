"""Runs on the fake device: the shipped backend conforms, workers share the ordinals, and a lost context is one verdict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..support.paths import BACKENDS, ROOT
from ..support.pytest_process import Run, environment, suite

SHIPPED = (ROOT / "backends" / "torch_cuda.py").read_text()
LOSING = BACKENDS / "devices" / "loses_its_context_unnoticed.py"
SELECTION = "relu.reference or sigmoid.reference or silu.reference"


def write_backend(folder: Path, more: str = "") -> None:
    """Write the shipped backend for CUDA devices, on the second ordinal of the fake device."""
    text = SHIPPED.replace('"cuda"', '"fake:1"').replace("from .", "from backends.")
    (folder / "on_fake.py").write_text(f"import meta_tests.support.fake_device\n\n{text}{more}")


def run(folder: Path, *args: str, **extra: str) -> Run:
    return suite(folder, "--hypothesis-seed=1", *args, env=environment(ROOT, **extra))


@pytest.mark.nightly
def test_the_shipped_backend_conforms_on_the_second_ordinal(tmp_path: Path) -> None:
    write_backend(tmp_path)
    operations = "softmax or rms_norm or rope or swiglu or scaled_dot_product_attention or sliding_window_mask"
    done = run(tmp_path, "--backend=on_fake.py", "--dtype=float32", "--dtype=bfloat16", "-k", operations)
    assert done.code == 0, done.text
    assert {fact["device"] for fact in done.facts} == {"fake:1"}
    assert done.count("passed") > 200


RECORDING = """
import os
from meta_tests.support.fake_boards import find_board

open(os.environ["PYTEST_XDIST_WORKER"], "w").write(find_board(device).serial)
"""


@pytest.mark.rotating
def test_workers_are_spread_over_the_boards_also_where_a_backend_names_an_ordinal(tmp_path: Path) -> None:
    write_backend(tmp_path, RECORDING)
    done = run(tmp_path, "--backend=on_fake.py", "--dtype=float32", "-n", "2", "-k", SELECTION, CUDA_VISIBLE_DEVICES="4,6")
    assert done.code == 0, done.text
    assert [(tmp_path / name).read_text() for name in ("gw0", "gw1")] == ["6", "4"]
    assert done.count("passed") == 3


@pytest.mark.rotating
@pytest.mark.parametrize("options", [(), ("-n", "2"), ("--isolate",)], ids=" ".join)
def test_a_lost_context_is_one_verdict(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(tmp_path, f"--backend={LOSING}", "-k", SELECTION, *options)
    reasons = {fact["id"]: (fact["status"], fact["reason"]) for fact in done.facts}
    assert done.code == 1
    assert reasons["sigmoid.reference"][0] == "failed"
    assert reasons["sigmoid.reference"][1].startswith(
        "reading an array raised RuntimeError: fake error: an illegal memory access"
    )
    assert "since then its device answers nothing more" in re.sub(r"\s+", " ", done.text)
    others = {reasons[name] for name in ("relu.reference", "silu.reference")}
    skipped = "Skipped: loses_its_context_unnoticed's device answers nothing more since an earlier call"
    for status, reason in others:
        assert status == "passed" or (options != ("--isolate",) and reason.startswith(skipped))
    if options == ("--isolate",):
        assert "therefore its process is replaced" in re.sub(r"\s+", " ", done.text)
    if not options:  # in one process, the order of the laws decides
        assert reasons["silu.reference"][0] == "skipped"
        assert (
            "no script: nothing answers in this process any more; the command below makes the call in a new process" in done.text
        )
