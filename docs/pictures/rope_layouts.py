"""Draw which features RoPE rotates together in both layouts."""

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from palette import BLUE, GREEN, ORANGE, PURPLE

FEATURES, HALF = 8, 4
COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
ROUND = "round,pad=0,rounding_size=0.1"


def draw(figure: Figure) -> str:
    figure.set_size_inches(6.4, 1.9)
    axes = figure.subplots()
    for y, layout, pairs in (
        (0.0, "interleaved", [(2 * k, 2 * k + 1) for k in range(HALF)]),
        (-1.45, "half", [(k, k + HALF) for k in range(HALF)]),
    ):
        axes.text(-0.6, y + 0.4, layout, ha="right", va="center", fontsize=11)
        for k, (pair, colour) in enumerate(zip(pairs, COLOURS, strict=True)):
            a, b = (i + 0.5 for i in pair)
            top = y + 0.92 + (0.08 * k if layout == "half" else 0.0)
            axes.plot([a, a, b, b], [y + 0.82, top, top, y + 0.82], color=colour, linewidth=1.5)
            for i in pair:
                axes.add_patch(FancyBboxPatch((i + 0.08, y), 0.84, 0.8, boxstyle=ROUND, color=colour, linewidth=0))
                axes.text(i + 0.5, y + 0.4, f"x{i}", ha="center", va="center", fontsize=11)
    axes.set(xlim=(-3, FEATURES + 0.2), ylim=(-1.6, 1.4))
    axes.axis("off")
    return (
        "Eight features. Interleaved, the pairs that are turned together are neighbours: 0 and 1, 2 and 3, 4 and 5, 6 and 7."
        " In halves, a feature of the first half goes with the same place in the second: 0 and 4, 1 and 5, 2 and 6, 3 and 7."
    )
