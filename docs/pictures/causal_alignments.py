"""Draw which keys each query sees in both alignments, with more keys than queries and with fewer, from the reference's masks."""

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from palette import BLUE, GREY

from reference_numpy.causal_mask import causal_mask

SHAPES = ((3, 5), (5, 3))


def draw(figure: Figure) -> str:
    figure.set_size_inches(7.2, 2.0)
    panels = figure.subplots(1, 4, width_ratios=[m for _, m in SHAPES for _ in "ab"])
    cases = [(n, m, aligned) for n, m in SHAPES for aligned in ("bottom-right", "top-left")]
    for axes, (n, m, aligned) in zip(panels, cases, strict=True):
        mask = np.asarray(causal_mask(n=n, m=m, aligned=aligned))
        colours = np.where(mask[..., None], to_rgba(BLUE), to_rgba(GREY, 0.18))
        axes.imshow(colours, extent=(0, m, n, 0))
        axes.set_xticks(np.arange(m) + 0.5, range(m))
        axes.set_yticks(np.arange(n) + 0.5, range(n))
        axes.tick_params(length=0)
        axes.vlines(range(m + 1), 0, n, color=GREY, linewidth=0.5)
        axes.hlines(range(n + 1), 0, m, color=GREY, linewidth=0.5)
        axes.spines[:].set_visible(False)
        axes.set_title(f"{aligned}\nn = {n}, m = {m}")
        for i in np.flatnonzero(~mask.any(axis=1)):
            axes.text(m / 2, i + 0.5, "no key", ha="center", va="center", fontsize=8)
    panels[0].set(xlabel="key j", ylabel="query i")
    return (
        "Four masks. With 3 queries and 5 keys the bottom-right alignment shows the queries 3, 4 and 5 keys, the top-left one"
        " 1, 2 and 3. With 5 queries and 3 keys bottom-right leaves the first two queries without a key; top-left, the last three"
        " see all."
    )
