"""Test that pictures are reproducible, described in words, and drawn in colours that are visible in both themes."""

import json
import re
import warnings

import pytest

from spec_tests.calls.operation import Operation
from spec_tests.inputs.regimes import LOGITS
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import specification

from ..measure.regimes import REGIMES, REGIMES_JSON, SHIPPED_BACKENDS, draw_calls
from ..support.in_process import backend
from ..support.paths import ROOT
from ..support.sphinx_extensions import import_extension

pytest.importorskip("matplotlib")
pytest.importorskip("sphinx")

PALETTE, _, PICTURES = (import_extension(name) for name in ("palette", "drawing", "pictures"))
WITH_ARGUMENT = [
    ("kill_matrix", "attention_with_kv_cache"),
    ("shares", "rms_norm"),
    ("shares", "softmax_vjp"),
    ("kill_matrix", "relu"),
    ("regimes", "torch-cpu"),
]
WITHOUT_ARGUMENT = [(name, "") for name in ("causal_alignments", "kill_matrix", "precision_classes", "rope_layouts")]
PICTURES_TO_TEST = [*WITH_ARGUMENT, *WITHOUT_ARGUMENT]


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#131416"])
def test_the_colours_are_visible_in_both_themes(page: str) -> None:
    """WCAG 2.2 requires a contrast of 3 to 1 for graphics (1.4.11)."""
    for name in ("BLUE", "ORANGE", "GREEN", "PURPLE", "GREY"):
        assert contrast(getattr(PALETTE, name), page) >= 3, name


def test_every_picture_is_tested() -> None:
    assert {name for name, _ in PICTURES_TO_TEST} == {path.stem for path in (ROOT / "docs" / "pictures").glob("*.py")}


@pytest.mark.parametrize("picture", PICTURES_TO_TEST, ids=lambda picture: " ".join(filter(None, picture)))
def test_a_picture_has_a_description_and_takes_the_page_s_colour(picture: tuple[str, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns where names leave no room for the picture
        svg = PICTURES.render(*filter(None, picture))
    description = re.search(r'^<svg role="img" aria-label="([^"]{40,})"', svg)
    assert description, svg[:300]
    assert svg == PICTURES.render(*filter(None, picture))
    colours = set(re.findall(r"#[0-9a-f]{6}\b", re.sub(r'href="[^"]*"|id="[^"]*"|url\([^)]*\)', "", svg)))
    palette = {getattr(PALETTE, name) for name in ("BLUE", "ORANGE", "GREEN", "PURPLE", "GREY")}
    assert colours <= palette, colours - palette
    assert "currentColor" in svg
    assert len(set(ids := re.findall(r'\bid="([^"]*)"', svg))) == len(ids)


def test_the_measured_regimes_are_those_that_the_suite_draws() -> None:
    entries = json.loads(REGIMES_JSON.read_text())
    assert set(entries) == set(SHIPPED_BACKENDS)
    expected = [(name, dtype, kind) for name, kinds in REGIMES.items() for dtype in DTYPES for kind in kinds]
    for rows in entries.values():
        assert [(row["operation"], row["dtype"], row["regime"]) for row in rows] == expected


def test_the_dtype_represents_the_numbers_of_a_regime() -> None:
    operation = Operation(specification("softmax"), backend("numpy-cpu"), "float16", "eager")
    for kind in LOGITS:
        for call in draw_calls(operation, kind):
            x = call.arguments[0]
            assert (operation.storage.round(x) == x).all(), kind
