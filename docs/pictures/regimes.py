"""Draw how much of the allowed error a backend uses on each kind of row, from docs/measured/regimes.json."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from palette import DTYPES, SHAPES, draw_share_axes

DATA = Path(__file__).parent.parent / "measured" / "regimes.json"


def draw(figure: Figure, backend: str) -> str:
    rows = json.loads(DATA.read_text())[backend]
    operations = {name: list(group) for name, group in groupby(rows, key=lambda row: row["operation"])}
    pairs = [list(operations)[i : i + 2] for i in range(0, len(operations), 2)]  # both of a pair have the same kinds of rows
    figure.set_size_inches(8.6, 5.2)
    for part, names in zip(figure.subfigures(2, 2, hspace=0.06).flat, pairs, strict=True):
        panels = part.subplots(1, 2, sharey=True)
        for axes, name in zip(panels, names, strict=True):
            draw_panel(axes, name, operations[name])
    handles = [axes.plot([], [], SHAPES[dtype], color=DTYPES[dtype], label=dtype, markersize=5)[0] for dtype in DTYPES]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    most = max((row for row in rows if row["worst"] <= 1), key=lambda row: row["worst"])
    beyond = sorted({f"{row['operation']} on {row['regime']} rows" for row in rows if row["worst"] > 1})
    return (
        f"{backend}, largest share of the allowed error on each kind of rows, in four dtypes, for {', '.join(operations)}."
        f" Most of it is used by {most['operation']} in {most['dtype']} on {most['regime']} rows, {most['worst']:.2f};"
        f" beyond the limit: {', '.join(beyond) or 'nothing'}."
    )


def draw_panel(axes: Any, name: str, rows: list[dict[str, Any]]) -> None:
    kinds = list(dict.fromkeys(row["regime"] for row in rows))
    draw_share_axes(axes, name, kinds)
    for row in rows:
        y = kinds.index(row["regime"]) + 0.16 * (list(DTYPES).index(row["dtype"]) - 1.5)
        shape, x = (SHAPES[row["dtype"]], row["worst"]) if row["worst"] <= 1 else ("x", 1.08)
        axes.plot(x, y, shape, color=DTYPES[row["dtype"]], markersize=3.5)
