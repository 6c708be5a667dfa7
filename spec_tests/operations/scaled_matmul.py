"""How scaled_matmul is drawn."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy._narrow import count_blocks, spread
from reference_numpy.scaled_matmul import WIDE, scaled_matmul
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations._narrow import BLOCKS, MAX_SIDE, choose, draw_powers, shape_of_scales
from spec_tests.operations._narrow_keywords import SCALES_OF_FLOATS
from spec_tests.operations.dequantize import draw_numbers, draw_zero_points, take
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.narrow_formats import FLOATING_ELEMENTS, NARROW_FORMATS, NarrowFormat

INTEGERS = ("int8", "int4", "uint8", "uint4")
ROWS, COLUMNS = 24, 160  # the most that are usually drawn
LARGEST = 8.0  # of a number times its scale, so that no sum leaves the range of float16
LABELS = MappingProxyType({"a": ("R", "C"), "b": ("S", "D")})  # the blocks of each operand, as the docstring calls them


@dataclass(frozen=True)
class Side:
    """One operand: its name, its format, and the keywords that belong to it. A wide one has no scale."""

    name: str
    dtype: str
    block: Any
    scale_dtype: str

    @property
    def format(self) -> NarrowFormat | None:
        return NARROW_FORMATS.get(self.dtype)

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS


@dataclass(frozen=True)
class Product:
    """The keywords of a call, and its two operands."""

    a: Side
    b: Side
    given: dict[str, Any]

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.a, self.b


def fitting_pairs(draw: Draw, a: tuple[str, ...] = (), b: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return the formats of a for each format of b, as far as the domain and these lists allow."""
    domain = draw.operation.domain
    groups = [(FLOATING_ELEMENTS, FLOATING_ELEMENTS), (INTEGERS, INTEGERS), (WIDE, (*FLOATING_ELEMENTS, *INTEGERS))]
    found = dict[str, list[str]]()
    for of_a, of_b in groups:
        for name in (n for n in of_b if n in domain.get("b_dtype", of_b) and n in (b or of_b)):
            found.setdefault(name, []).extend(n for n in of_a if n in domain.get("a_dtype", of_a) and n in (a or of_a))
    return {name: partners for name, partners in found.items() if partners}


def draw_block_of(draw: Draw, side: str) -> dict[str, Any]:
    """Draw a block, of those that the domain states if it does, and of which it allows as many as there will be."""
    domain, name = draw.operation.domain, f"block_{side}"
    blocks = domain.get(name, BLOCKS)
    limits = [(axis, min(domain[n])) for axis, n in enumerate(LABELS[side]) if n in domain and 1 not in domain[n]]
    fitting = [b for b in blocks if b and all((b[axis] or MAX_SIDE) * count < MAX_SIDE for axis, count in limits)]
    return choose(draw, name, *(fitting or blocks))


def draw_side(draw: Draw, side: str, formats: tuple[str, ...], scales: tuple[str, ...] = ()) -> tuple[Side, dict[str, Any]]:
    """Draw one operand: its format of these, a block, and the format of its scales."""
    dtype = choose(draw, f"{side}_dtype", *formats)
    name = dtype[f"{side}_dtype"]
    if name in WIDE:
        return Side(side, name, None, "float32"), {**dtype, **choose(draw, f"scale_dtype_{side}", "float32")}
    pool = ("float32",) if name in INTEGERS else SCALES_OF_FLOATS
    scale_dtype = choose(draw, f"scale_dtype_{side}", *(s for s in pool if not scales or s in scales))
    block = draw_block_of(draw, side)
    found = Side(side, name, block[f"block_{side}"], str(scale_dtype.get(f"scale_dtype_{side}", "float32")))
    return found, {**dtype, **scale_dtype, **block}


def draw_product(draw: Draw, a: tuple[str, ...] = (), b: tuple[str, ...] = (), scales: tuple[str, ...] = ()) -> Product:
    """Draw the keywords of a call: two formats that go together, of these lists if they are given, blocks and scales."""
    stated = draw.operation.domain.get("block_a", ())
    narrow = tuple(name for name in (a or (*FLOATING_ELEMENTS, *INTEGERS)) if name not in WIDE)
    pairs = fitting_pairs(draw, narrow if any(stated) else a, b)
    if not pairs:
        raise NotImplementedVariant("its domain has no such pair of a_dtype and b_dtype")
    right, of_b = draw_side(draw, "b", tuple(pairs), scales)
    partners = pairs[right.dtype]
    kind = draw.one_of(tuple(dict.fromkeys(name in WIDE for name in partners)))
    left, of_a = draw_side(draw, "a", tuple(name for name in partners if (name in WIDE) == kind), scales)
    of_a = of_a if left.block else {**of_a, "block_a": None}
    of_a = {name: x for name, x in of_a.items() if draw.operation.accepts(name) or name == "a_dtype"}
    return Product(left, right, {**of_a, **of_b, **choose(draw, "dtype", draw.operation.dtype)})


def draw_lengths(draw: Draw, product: Product) -> tuple[int, int, int]:
    """Draw M, N and K. Rows fill their bytes or words in both operands."""
    domain, (m, n, k) = draw.operation.domain, draw.dims(M=ROWS, N=ROWS, K=COLUMNS)
    fitted = {"R": m, "S": n, "C": k, "D": k}
    for side in product.sides:
        for axis, label in enumerate(LABELS[side.name]) if side.block else ():
            size, allowed = side.block[axis], domain.get(label)
            if size is not None and allowed is not None and count_blocks(fitted[label], size) not in allowed:
                fitted[label] = min(allowed) * size
    k = fitted["D"] if fitted["D"] != k else fitted["C"]
    per_entry = np.lcm.reduce([draw.operation.backend.carrier(s.format).per_entry for s in product.sides if s.format])
    return fitted["R"], fitted["S"], int(-(-k // per_entry) * per_entry)


def draw_scale(draw: Draw, side: Side, shape: tuple[int, ...], *, exact: bool) -> np.ndarray:
    """Draw positive scales, with which most numbers are near to 1. exact: powers of two alone."""
    assert side.format
    low = -int(np.log2(side.format.max))
    if side.scale_dtype == "float8_e4m3fn":
        low = max(low, -6)
        if not exact:
            numbers = NARROW_FORMATS[side.scale_dtype].numbers
            return draw.rng.choice(numbers[(numbers >= 2.0**low) & (numbers <= 2.0 ** (low + 5))], shape)
    power = draw_powers(draw, shape, low - 1, low + 3)
    if exact or side.scale_dtype != "float32":
        return power
    return (power * draw.rng.uniform(1, 2, shape)).astype(np.float32).astype(np.float64)


def draw_operand(draw: Draw, side: Side, shape: tuple[int, ...], *, exact: bool) -> dict[str, Any]:
    """Draw the numbers of an operand, its scale, and a zero point or a global scale where these go with it."""
    if side.format is None:
        return {side.name: FORMATS[side.dtype].round(draw.rng.normal(0, 1, shape))}
    of_scale = shape_of_scales(shape, side.block)
    scale = draw_scale(draw, side, of_scale, exact=exact)
    numbers = draw_numbers(draw, side.format, shape)
    numbers = np.where(np.abs(numbers * spread(scale, side.block, shape)) <= LARGEST, numbers, 0.0)
    drawn = {side.name: numbers, f"scale_{side.name}": scale}
    zero_point, global_scale = f"zero_point_{side.name}", f"global_scale_{side.name}"
    if side.is_integer and zero_point in draw.variants(zero_point):
        drawn[zero_point] = draw_zero_points(draw, side.format, of_scale)
    if side.scale_dtype == "float8_e4m3fn" and global_scale in draw.variants(global_scale):
        power = draw_powers(draw, (), -3, 0)
        drawn[global_scale] = power if exact else (power * draw.rng.uniform(0.5, 1)).astype(np.float32).astype(np.float64)
    return drawn


def draw_inputs(
    draw: Draw, product: Product, *, exact: bool | None = None, lengths: tuple[int, int, int] | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call with these keywords. exact: powers of two as scales, as in a half of the examples where it is not given."""
    exact = draw.one_of((True, False)) if exact is None else exact
    batch, (m, n, k) = draw.batch(), lengths or draw_lengths(draw, product)
    drawn = {
        **draw_operand(draw, product.a, (*batch, m, k), exact=exact),
        **draw_operand(draw, product.b, (n, k), exact=exact),
    }
    if "bias" in draw.variants("bias"):
        drawn["bias"] = draw.format.round(draw.rng.normal(0, 2, n))
    return (drawn.pop("a"), drawn.pop("b")), {**product.given, **drawn}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, draw_product(draw))


def ask(draw: Draw, product: Product, number: float, **optional: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call in which all numbers of b are this one, those of a and all scales are 1."""
    m, n, k = draw_lengths(draw, product)
    shapes = {"a": (m, k), "b": (n, k)}
    scales = {
        f"scale_{side.name}": np.ones(shape_of_scales(shapes[side.name], side.block)) for side in product.sides if side.block
    }
    made = {name: np.full(scales["scale_b"].shape if name.startswith("zero") else (), x) for name, x in optional.items()}
    return (np.ones((m, k)), np.full((n, k), number)), {**product.given, **scales, **made}


def ask_global_scale(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a global scale of 2."""
    take(draw, "global_scale_b")
    return ask(draw, draw_product(draw, b=FLOATING_ELEMENTS, scales=("float8_e4m3fn",)), 1.0, global_scale_b=2.0)


def ask_zero_point(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw zeros, and zero points that are stored as 0."""
    take(draw, "zero_point_b")
    return ask(draw, draw_product(draw, b=("uint4",)), 0.0, zero_point_b=0)


declaration = Declaration(
    equation=scaled_matmul,
    arguments=arguments,
    core={"a": 2, "scale_a": 2, "zero_point_a": 2},
    always_given=("scale_b",),
    precision="fused",
    dtypes=("float32", "bfloat16", "float16"),
    formats={
        "": "dtype",
        "a": "a_dtype",
        "b": "b_dtype",
        "scale_a": "scale_dtype_a",
        "scale_b": "scale_dtype_b",
        "zero_point_a": "a_dtype",
        "zero_point_b": "b_dtype",
    },
    as_codes=("zero_point_a", "zero_point_b"),
    positive=("scale_a", "scale_b", "global_scale_a", "global_scale_b"),
    wide_arguments=("global_scale_a", "global_scale_b"),
    open_questions={"global_scale": ask_global_scale, "stored_zero_point": ask_zero_point},
)
