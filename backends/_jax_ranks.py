"""The mesh of the sharded JAX backend, of as many devices as ranks, and how a function runs on parts of arrays on all of them.

JAX cuts an axis only if the number of devices divides its length. An axis of another length is filled up, and what comes of the
filling is cut off.
"""

import functools
import inspect
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

AXIS = "ranks"
WORLD_SIZE = int(os.environ["WORLD_SIZE"])
MESH = Mesh(np.array(jax.devices()[:WORLD_SIZE]), (AXIS,))


def filled(x, axis, filling=0):
    """An array whose axis has the next length, from 1 up, that the ranks divide."""
    length = x.shape[axis]
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, WORLD_SIZE * max(1, -(-length // WORLD_SIZE)) - length)
    return jnp.pad(x, widths, constant_values=filling)


def cut(ndim, axis):
    """The partition of an array of so many axes that is cut along one of them, or whole on each rank if that is None."""
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * (axis % ndim), AXIS)


def on_ranks(f, *arguments, result=None, filling=0):
    """Run f on all ranks at once.

    Each argument is an array, or None, which every rank has whole, or a pair of an array and the axis along which it is cut.
    result: the axis of the result along which the ranks' parts are joined; if None, it is the same on all ranks.
    """
    pairs = [pair if isinstance(pair, tuple) else (pair, None) for pair in arguments]
    arrays = [x if x is None or axis is None else filled(x, axis, filling) for x, axis in pairs]
    specs = tuple(PartitionSpec() if x is None else cut(x.ndim, axis) for x, axis in pairs)
    return jax.shard_map(f, mesh=MESH, in_specs=specs, out_specs=result or PartitionSpec())(*arrays)


def rank():
    """The number of the rank that asks."""
    return jax.lax.axis_index(AXIS)


def summed(x):
    """The sum of each rank's part, the same on all ranks."""
    return jax.lax.psum(x, AXIS)


@jax.custom_vjp
def only(x):
    """The sum of parts of which all but one are 0, bit by bit: XLA adds subnormal numbers as zeros."""
    bits = jax.lax.bitcast_convert_type(x, {2: jnp.int16, 4: jnp.int32, 8: jnp.int64}[x.dtype.itemsize])
    return jax.lax.bitcast_convert_type(jax.lax.psum(bits, AXIS), x.dtype)


only.defvjp(lambda x: (only(x), None), lambda _, g: (jax.lax.pcast(g, AXIS, to="varying"),))


def largest(x, axis):
    """The maximum along an axis that is cut. It cancels: nothing to differentiate."""
    return jax.lax.pmax(jax.lax.stop_gradient(x).max(axis, keepdims=True), AXIS)


def from_the_rank_before(*arrays):
    """Send arrays to the next rank, and return those of the rank before."""
    ring = [(r, (r + 1) % WORLD_SIZE) for r in range(WORLD_SIZE)]
    return tuple(jax.lax.ppermute(x, AXIS, ring) for x in arrays)


def is_floating(x):
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)


def widened(x):
    """A floating array in float32 or wider, and anything else as it is."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32)) if is_floating(x) else x


def compiled(operation):
    """The operation compiled as a whole, its keywords compiled in."""
    parameters = inspect.signature(operation).parameters.values()
    return jax.jit(operation, static_argnames=[p.name for p in parameters if p.kind is p.KEYWORD_ONLY])


def in_float32(operation):
    """Compiled, with 16-bit arrays in float32 up to the result, which takes the dtype of the first floating argument."""

    @functools.wraps(operation)
    def wrapper(*arrays, **keywords):
        dtype = next(
            x.dtype for x in (*arrays, *keywords.values()) if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)
        )
        return operation(*map(widened, arrays), **{name: widened(x) for name, x in keywords.items()}).astype(dtype)

    return compiled(wrapper)
