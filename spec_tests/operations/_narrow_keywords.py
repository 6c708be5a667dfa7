"""How the keywords of operations on numbers in few bits are drawn: the format, that of the scales, and the block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations._narrow import choose, draw_block
from spec_tests.specification.narrow_formats import ELEMENT_FORMATS, NARROW_FORMATS, NarrowFormat

SCALES_OF_FLOATS = ("float32", "float32", "float8_e8m0fnu", "float8_e4m3fn")


@dataclass(frozen=True)
class Keywords:
    """The keywords of a call, and the format that they name."""

    format: NarrowFormat
    given: dict[str, Any]

    @property
    def block(self) -> Any:
        return self.given["block"]

    @property
    def scale_dtype(self) -> str:
        return str(self.given.get("scale_dtype", "float32"))


def draw_keywords(draw: Draw, *formats: str, scales: tuple[str, ...] = ()) -> Keywords:
    """Draw a format, the format of its scales, and a block, as far as they go together."""
    name = name_of_format(draw)
    dtype = choose(draw, name, *(formats or ELEMENT_FORMATS))
    is_integer = NARROW_FORMATS[dtype[name]].is_integer
    pool = ("float32",) if is_integer else SCALES_OF_FLOATS
    scale_dtype = choose(draw, "scale_dtype", *(name for name in pool if not scales or name in scales))
    of_result = choose(draw, "dtype", draw.operation.dtype) if name != "dtype" else {}
    return Keywords(NARROW_FORMATS[dtype[name]], {**dtype, **draw_block(draw), **scale_dtype, **of_result})


def name_of_format(draw: Draw) -> str:
    """Return the keyword that names the format of the numbers in few bits."""
    return "q_dtype" if "q_dtype" in draw.operation.spec.parameters else "dtype"


def draw_each_format(draw: Draw, *formats: str) -> Iterator[Keywords]:
    """Draw the other keywords for each of these formats that the domain allows."""
    allowed = draw.operation.domain.get(name_of_format(draw), ELEMENT_FORMATS)
    fitting = [name for name in formats or ELEMENT_FORMATS if name in allowed]
    if not fitting:
        raise NotImplementedVariant(f"its domain has no {name_of_format(draw)} = {' or '.join(formats)}")
    for name in fitting:
        yield draw_keywords(draw, name)
