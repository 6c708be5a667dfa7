"""The pictures of the site: the same each time, in colours that both themes bear, and told in words."""

import json
import re

import pytest

from spec_tests.calls.operation import Operation
from spec_tests.inputs.regimes import LOGITS
from spec_tests.specification.formats import DTYPES
from spec_tests.specification.registry import specification

from ..measure.regimes import DATA, REGIMES, SHIPPED, calls
from ..support.in_process import backend
from ..support.paths import ROOT
from ..support.sphinx_extensions import extension

pytest.importorskip("matplotlib")
pytest.importorskip("sphinx")

PICTURES, PALETTE = extension("pictures"), extension("palette")
GIVEN = [("shares", "rms_norm"), ("shares", "softmax_vjp"), ("kill_matrix", "relu"), ("regimes", "torch-cpu")]
ALONE = [(name, "") for name in ("causal_alignments", "kill_matrix", "precision_classes", "rope_layouts")]
SHOWN = [*GIVEN, *ALONE]


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#131416"])
def test_both_themes_bear_the_colours(page: str) -> None:
    """3 to 1 is what WCAG 2.2 asks of graphics (1.4.11)."""
    for name in ("BLUE", "ORANGE", "GREEN", "PURPLE", "GREY"):
        assert contrast(getattr(PALETTE, name), page) >= 3, name


def test_every_picture_is_tried() -> None:
    assert {name for name, _ in SHOWN} == {path.stem for path in (ROOT / "docs" / "pictures").glob("*.py")}


@pytest.mark.parametrize("picture", SHOWN, ids=lambda picture: " ".join(filter(None, picture)))
def test_a_picture_is_told_in_words_and_takes_the_page_s_colour(picture: tuple[str, ...]) -> None:
    svg = PICTURES.drawn(*filter(None, picture))
    words = re.search(r'^<svg role="img" aria-label="([^"]{40,})"', svg)
    assert words, svg[:300]
    assert svg == PICTURES.drawn(*filter(None, picture))
    colours = set(re.findall(r"#[0-9a-f]{6}\b", re.sub(r'href="[^"]*"|id="[^"]*"|url\([^)]*\)', "", svg)))
    own = {getattr(PALETTE, name) for name in ("BLUE", "ORANGE", "GREEN", "PURPLE", "GREY")}
    assert colours <= own, colours - own
    assert "currentColor" in svg
    assert len(set(ids := re.findall(r'\bid="([^"]*)"', svg))) == len(ids)


def test_the_shares_by_regime_are_of_what_the_suite_draws() -> None:
    entries = json.loads(DATA.read_text())
    assert set(entries) == set(SHIPPED)
    expected = [(name, dtype, kind) for name, kinds in REGIMES.items() for dtype in DTYPES for kind in kinds]
    for rows in entries.values():
        assert [(row["operation"], row["dtype"], row["regime"]) for row in rows] == expected


def test_the_calls_of_a_regime_are_held_by_the_dtype() -> None:
    operation = Operation(specification("softmax"), backend("numpy-cpu"), "float16", "eager")
    for kind in LOGITS:
        for call in calls(operation, kind):
            x = call.arguments[0]
            assert (operation.storage.round(x) == x).all(), kind
