"""What goes wrong with rope where tokens have positions of time, height and width: which pair turns by which of them."""

from typing import Any

import numpy as np

from reference_numpy.rope import rope

from . import deviation

LAWS = ("reference", "sections")


@deviation(*LAWS)
def time_alone(x: Any, positions: Any, inverse_frequencies: Any = None, *, sections: Any = None, **options: Any) -> Any:
    """every pair turns by the position of time.

    Shows: images, whose tokens differ in height and width. Hides: text, whose three positions are equal.
    """
    return rope(x, positions if sections is None else positions[0], inverse_frequencies, **_without_sections(options))


@deviation(*LAWS)
def height_and_width_exchanged(
    x: Any, positions: Any, inverse_frequencies: Any = None, *, sections: Any = None, **options: Any
) -> Any:
    """the positions of height and width are exchanged: (t, x, y) is read as (t, y, x).

    Shows: tokens whose height and width differ. Hides: text, and the diagonal of an image.
    """
    order = positions if sections is None else np.stack([positions[0], positions[2], positions[1]])
    return rope(x, order, inverse_frequencies, sections=sections, **options)


@deviation(*LAWS, seen=("https://github.com/alibaba/MNN/pull/4133",))
def chunked_for_interleaved(
    x: Any, positions: Any, inverse_frequencies: Any = None, *, section_layout: str = "chunked", **options: Any
) -> Any:
    """sections are chunked where they are interleaved, as in Qwen2-VL's code with a Qwen3-VL model.

    Shows: interleaved sections with images. Hides: chunked sections, and text.
    """
    return rope(x, positions, inverse_frequencies, section_layout="chunked", **options)


@deviation(*LAWS, seen=("https://github.com/XPU-Forces/mojo_opset/pull/276",))
def interleaved_to_the_end(
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    sections: Any = None,
    section_layout: str = "chunked",
    **options: Any,
) -> Any:
    """interleaved pairs turn by the axis k mod 3 to the last pair: the sections do not limit it.

    Shows: interleaved sections of which time has more than a third. Hides: equal sections, chunked ones, and text.
    """
    if sections is not None and section_layout == "interleaved":
        pairs = sum(sections)
        sections = (pairs - (pairs + 1) // 3 - pairs // 3, (pairs + 1) // 3, pairs // 3)
    return rope(x, positions, inverse_frequencies, sections=sections, section_layout=section_layout, **options)


@deviation(*LAWS, seen=("https://github.com/xLLM-AI/xllm/pull/2120",))
def interleaved_pairs_for_interleaved_sections(
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    layout: str = "interleaved",
    section_layout: str = "chunked",
    sections: Any = None,
    **options: Any,
) -> Any:
    """interleaved sections are taken for interleaved pairs: features (2k, 2k+1) form a pair, and the sections are chunked.

    Shows: interleaved sections. Hides: chunked ones.
    """
    if sections is not None and section_layout == "interleaved":
        layout, section_layout = "interleaved", "chunked"
    return rope(x, positions, inverse_frequencies, layout=layout, sections=sections, section_layout=section_layout, **options)


@deviation(*LAWS)
def sections_of_features(
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    sections: Any = None,
    section_layout: str = "chunked",
    **options: Any,
) -> Any:
    """chunked sections count features: height and width begin at half of their pair, and the last pairs turn by width.

    Shows: chunked sections of more than one axis with images. Hides: interleaved sections, and text.
    """
    if sections is not None and section_layout == "chunked":
        pairs, (time, height, _) = sum(sections), sections
        sections = (time // 2, height // 2, pairs - time // 2 - height // 2)
    return rope(x, positions, inverse_frequencies, sections=sections, section_layout=section_layout, **options)


@deviation(*LAWS)
def frequencies_anew_in_each_section(
    x: Any,
    positions: Any,
    inverse_frequencies: Any = None,
    *,
    sections: Any = None,
    section_layout: str = "chunked",
    theta: float = 10000.0,
    rotary_dim: int | None = None,
    **options: Any,
) -> Any:
    """the frequencies of chunked sections begin again with each section, as in the rotation of images in two axes.

    Shows: chunked sections of height and width. Hides: interleaved sections, and those of time alone.
    """
    options |= {"rotary_dim": rotary_dim, "sections": sections, "section_layout": section_layout}
    if sections is None or section_layout != "chunked" or inverse_frequencies is not None:
        return rope(x, positions, inverse_frequencies, theta=theta, **options)
    r = max(x.shape[-1] if rotary_dim is None else rotary_dim, 1)
    anew = np.concatenate([np.arange(size) for size in sections])
    return rope(x, positions, np.power(theta, -2 * anew / r), **options)


def _without_sections(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "section_layout"}
