"""Draw which intermediate results of attention may be stored in 16 bits in each precision class."""

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from palette import CLASSES, GREY

TENSORS = ("q, k, v", "q kᵀ", "· scale", "− max", "exp", "Σ", "p = e / Σ", "y = p v")
ARROW = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 0, "shrinkB": 0}
NARROW = {  # tensors that may be stored in 16 bits; sums accumulate in float32 in every class
    "fused": {"q, k, v", "y = p v"},
    "mixed": {"q, k, v", "p = e / Σ", "y = p v"},
    "eager": set(TENSORS),
}


def draw(figure: Figure) -> str:
    figure.set_size_inches(7.2, 2.1)
    axes = figure.subplots()
    for row, (kind, narrow) in enumerate(NARROW.items()):
        axes.text(-0.15, -row, kind, ha="right", va="center", fontsize=11, color=CLASSES[kind])
        for place, tensor in enumerate(TENSORS):
            inside = tensor in narrow
            box = FancyBboxPatch(
                (place + 0.06, -row - 0.3), 0.8, 0.6, boxstyle="round,pad=0,rounding_size=0.08",
                facecolor=CLASSES[kind] if inside else "none", edgecolor=CLASSES[kind] if inside else GREY, linewidth=1,
            )  # fmt: skip
            axes.add_patch(box)
            axes.text(place + 0.46, -row, tensor, ha="center", va="center", fontsize=8.5)
            if place:
                axes.annotate("", (place + 0.06, -row), (place - 0.14, -row), arrowprops=ARROW)
    axes.text(0.06, -2.75, "filled: may be stored in 16 bits; outlined: float32 or wider", fontsize=9, va="center")
    axes.set(xlim=(-0.9, len(TENSORS)), ylim=(-3, 0.45))
    axes.axis("off")
    return (
        "Attention's steps from q, k, v to the result, for each precision class. Fused: only arguments and result are stored in"
        " 16 bits. Mixed: the weights p as well, an operand of the second matrix product. Eager: the result of every step."
    )
