"""A picture of lines, squares, marks and words, written as SVG at once: pages of operations have 150 of them.

Lengths are points, as in Matplotlib, which takes half a second for such a picture.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field

from palette import GREY

CHARACTER = 4.68  # width of a character of a label, at most, in the font of the page
LABEL = 8  # size of a label's type


@dataclass
class Drawing:
    """A picture under way. Text has the page's colour."""

    width: float
    height: float
    description: str = ""
    parts: list[str] = field(default_factory=list)

    def line(
        self, x: float, y: float, x_end: float, y_end: float, colour: str = GREY, width: float = 0.5, *, dashed: bool = False
    ) -> None:
        dashes = ' stroke-dasharray="3.7 1.6"' * dashed
        stroke = f'stroke="{colour}" stroke-width="{width:.3g}" fill="none"{dashes}'
        self._add(f'<path d="M{x:.5g} {y:.5g}L{x_end:.5g} {y_end:.5g}" {stroke}/>')

    def text(self, x: float, y: float, text: str, anchor: str = "start", size: float = LABEL, *, rotated: bool = False) -> None:
        """Write text whose middle has the height y. Rotated text runs upwards from it."""
        turn = f' transform="rotate(-90 {x:.5g} {y:.5g})"' * rotated
        self._add(
            f'<text x="{x:.5g}" y="{y + 0.35 * size:.5g}" font-size="{size}" text-anchor="{anchor}" fill="currentColor"{turn}>'
            f"{html.escape(text)}</text>"
        )

    def mark(self, kind: str, x: float, y: float, colour: str, size: float = 4.5, opacity: float = 1.0) -> None:
        """Draw a mark of Matplotlib's kinds: o, s, D, ^ or x."""
        half = size / 2
        corners = {
            "s": f"M{x - half:.5g} {y - half:.5g}h{size:.4g}v{size:.4g}h{-size:.4g}z",
            "D": f"M{x:.5g} {y - half:.5g}l{half:.4g} {half:.4g}l{-half:.4g} {half:.4g}l{-half:.4g} {-half:.4g}z",
            "^": f"M{x:.5g} {y - half:.5g}l{half:.4g} {size:.4g}h{-size:.4g}z",
            "x": f"M{x - half:.5g} {y - half:.5g}l{size:.4g} {size:.4g}m0 {-size:.4g}l{-size:.4g} {size:.4g}",
        }
        shade = f' fill-opacity="{opacity:.3g}"' * (opacity < 1)
        if kind == "o":
            self._add(f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{half:.4g}" fill="{colour}"{shade}/>')
        elif kind == "x":
            self._add(f'<path d="{corners[kind]}" stroke="{colour}" stroke-width="1.5" fill="none"/>')
        else:
            self._add(f'<path d="{corners[kind]}" fill="{colour}"{shade}/>')

    def _add(self, part: str) -> None:
        self.parts.append(part)

    def to_svg(self) -> str:
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" style="max-width: {self.width * 4 / 3:.0f}px"'
        head = f'<svg role="img" aria-label="{html.escape(self.description, quote=True)}" {size}'
        return "\n".join([f'{head} xmlns="http://www.w3.org/2000/svg">', *self.parts, "</svg>"])
