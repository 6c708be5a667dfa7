"""What goes wrong with muon_step: the buffer, the decay and the factor of the rate."""

import math
from typing import Any

import numpy as np

from reference_numpy.muon_step import muon_step
from reference_numpy.newton_schulz import newton_schulz

from . import deviation


@deviation("reference", "momentum")
def look_ahead_kept(
    parameter: Any, gradient: Any, momentum_buffer: Any, *, momentum: float = 0.95, nesterov: bool = True, **options: Any
) -> Any:
    """the direction, which looks ahead, is returned as the buffer.

    Shows: nesterov with a momentum other than 0. Hides: plain momentum.
    """
    after, buffer = muon_step(parameter, gradient, momentum_buffer, momentum=momentum, nesterov=nesterov, **options)
    return after, momentum * buffer + (1 - momentum) * gradient if nesterov else buffer


@deviation("reference", "momentum")
def normalized_matrix_kept(
    parameter: Any,
    gradient: Any,
    momentum_buffer: Any,
    *,
    momentum: float = 0.95,
    nesterov: bool = True,
    eps: float = 1e-7,
    **options: Any,
) -> Any:
    """without nesterov the buffer is overwritten by the matrix of norm 1, as torch.optim.Muon 2.13 does in bfloat16.

    Shows: plain momentum. Hides: nesterov.
    """
    after, buffer = muon_step(parameter, gradient, momentum_buffer, momentum=momentum, nesterov=nesterov, eps=eps, **options)
    return after, buffer if nesterov else newton_schulz(buffer, steps=0, eps=eps)


@deviation("reference")
def nesterov_always(parameter: Any, gradient: Any, momentum_buffer: Any, *, nesterov: bool = True, **options: Any) -> Any:
    """the direction looks ahead, whatever is given.

    Shows: nesterov of False. Hides: nesterov of True, one row and column.
    """
    return muon_step(parameter, gradient, momentum_buffer, **options)


@deviation("reference", "direction", "muon_compute")
def factor_left_out(parameter: Any, gradient: Any, momentum_buffer: Any, *, adjust: str = "original", **options: Any) -> Any:
    """the rate is not multiplied by a factor of the shape.

    Shows: more rows than columns, and match_rms_adamw. Hides: the original factor of wide matrices.
    """
    rows, columns = parameter.shape[-2:]
    arrays = [parameter, gradient, momentum_buffer]
    if rows <= columns:
        return muon_step(*arrays, **options)
    return [np.swapaxes(x, -1, -2) for x in muon_step(*(np.swapaxes(x, -1, -2) for x in arrays), **options)]


@deviation("reference", "direction")
def columns_over_rows(
    parameter: Any, gradient: Any, momentum_buffer: Any, *, learning_rate: float, weight_decay: float = 0.0, **options: Any
) -> Any:
    """the factor of "original" is √max(1, columns/rows): the matrix is taken for its transpose.

    Shows: matrices that are not square. Hides: square ones, and match_rms_adamw.
    """
    if options.get("adjust", "original") != "original":
        return muon_step(parameter, gradient, momentum_buffer, learning_rate=learning_rate, weight_decay=weight_decay, **options)
    rows, columns = parameter.shape[-2:]
    factor = math.sqrt(max(1.0, columns / rows) / max(1.0, rows / columns))
    return muon_step(
        parameter, gradient, momentum_buffer, learning_rate=learning_rate * factor, weight_decay=weight_decay / factor, **options
    )


@deviation("reference", "direction", seen=("https://github.com/zichongli5/NorMuon/issues/9",))
def root_of_the_product(
    parameter: Any, gradient: Any, momentum_buffer: Any, *, learning_rate: float, weight_decay: float = 0.0, **options: Any
) -> Any:
    """the factor of "match_rms_adamw" is 0.2 √(rows columns), and not 0.2 √max(rows, columns).

    Shows: match_rms_adamw with two rows and two columns. Hides: a single row or column, and original.
    """
    factor = math.sqrt(min(parameter.shape[-2:])) if options.get("adjust", "original") == "match_rms_adamw" else 1.0
    return muon_step(
        parameter, gradient, momentum_buffer, learning_rate=learning_rate * factor, weight_decay=weight_decay / factor, **options
    )


@deviation("reference", "decay_alone", "direction")
def decay_by_the_adjusted_rate(
    parameter: Any, gradient: Any, momentum_buffer: Any, *, adjust: str = "original", weight_decay: float = 0.0, **options: Any
) -> Any:
    """the decay takes the rate with the factor of the shape.

    Shows: a decay, and more rows than columns or match_rms_adamw. Hides: no decay.
    """
    rows, columns = parameter.shape[-2:]
    factor = math.sqrt(max(1.0, rows / columns)) if adjust == "original" else 0.2 * math.sqrt(max(rows, columns))
    return muon_step(parameter, gradient, momentum_buffer, adjust=adjust, weight_decay=weight_decay * factor, **options)


@deviation("reference", "decay_alone", "momentum")
def decay_added_to_the_gradient(
    parameter: Any, gradient: Any, momentum_buffer: Any, *, weight_decay: float = 0.0, **options: Any
) -> Any:
    """the decay is added to the gradient, d p, and passes through the momentum, as in MLX.

    Shows: a decay. Hides: no decay.
    """
    return muon_step(parameter, gradient + weight_decay * parameter, momentum_buffer, **options)


@deviation("reference", "decay_alone", "learning_rate_of_zero")
def decay_without_the_rate(
    parameter: Any, gradient: Any, momentum_buffer: Any, *, weight_decay: float = 0.0, **options: Any
) -> Any:
    """the decay is not multiplied by the learning rate.

    Shows: a decay other than 0. Hides: none.
    """
    after, buffer = muon_step(parameter, gradient, momentum_buffer, **options)
    return after - weight_decay * parameter, buffer


@deviation("reference")
def decay_of_the_size(
    parameter: Any, gradient: Any, momentum_buffer: Any, *, learning_rate: float, weight_decay: float = 0.0, **options: Any
) -> Any:
    """the decay subtracts the size of the parameter, so that a negative one grows.

    Shows: negative parameters with a decay. Hides: positive parameters.
    """
    after, buffer = muon_step(parameter, gradient, momentum_buffer, learning_rate=learning_rate, **options)
    return after - learning_rate * weight_decay * np.abs(parameter), buffer
