"""RoPE of numpy_cpu, and its frequencies."""

import math

import numpy as np

from ._numpy_functions import overflow_is_inf, wide


def yarn_scale(factor, mscale=1.0):
    return 0.1 * mscale * math.log(factor) + 1


def rope_frequencies(
    *, d_k, theta=10000.0, scaling="default", factor=1.0, original_length=None, length=None,
    low_frequency_factor=1.0, high_frequency_factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=True,
    attention_factor=None, mscale=None, mscale_all_dim=None, short_factors=None, long_factors=None,
):  # fmt: skip
    o, k, a = original_length, np.arange(0, d_k, 2), 1.0
    if scaling == "dynamic" and (length or o) > o:
        theta = theta * (factor * length / o - (factor - 1)) ** (d_k / (d_k - 2))
    f = 1 / theta ** (k / d_k)
    if scaling == "linear":
        f = f / factor
    elif scaling == "yarn":
        lo, hi = (d_k * math.log(o / (2 * math.pi * beta)) / (2 * math.log(theta)) for beta in (beta_fast, beta_slow))
        lo, hi = (math.floor(lo), math.ceil(hi)) if truncate else (lo, hi)
        lo, hi = max(lo, 0), min(hi, d_k - 1)
        ramp = np.clip((k / 2 - lo) / (hi - lo if hi != lo else 0.001), 0, 1)
        f, a = f / factor * ramp + f * (1 - ramp), yarn_scale(factor)
        if mscale and mscale_all_dim:
            a = yarn_scale(factor, mscale) / yarn_scale(factor, mscale_all_dim)
    elif scaling == "llama3":
        low, high, turns = low_frequency_factor, high_frequency_factor, o * f / (2 * math.pi)
        smooth = (turns - low) / (high - low)
        between = (1 - smooth) * f / factor + smooth * f
        f = np.where(turns < low, f / factor, np.where(turns > high, f, between))
    elif scaling == "longrope":
        f = f / np.array(long_factors if length is not None and length > o else short_factors)
        a = math.sqrt(1 + math.log(factor) / math.log(o))
    a = attention_factor if attention_factor is not None and scaling in ("yarn", "longrope") else a
    return f.astype(np.float32), np.asarray(a, dtype=np.float32)


@overflow_is_inf
def rope(
    x, positions, inverse_frequencies=None, *, theta=10000.0, layout="interleaved", rotary_dim=None, attention_factor=1.0,
    sections=None, section_layout="chunked",
):  # fmt: skip
    if rotary_dim is not None and rotary_dim < x.shape[-1]:
        options = {"theta": theta, "layout": layout, "attention_factor": attention_factor}
        options |= {"sections": sections, "section_layout": section_layout}
        turned = rope(x[..., :rotary_dim], positions, inverse_frequencies, **options)
        return np.concatenate([turned, x[..., rotary_dim:]], axis=-1)
    d = x.shape[-1]
    h, interleaved = wide(x), layout == "interleaved"
    a, b = (h[..., 0::2], h[..., 1::2]) if interleaved else (h[..., : d // 2], h[..., d // 2 :])
    frequencies = float(theta) ** (-np.arange(0, d, 2) / max(d, 1)) if inverse_frequencies is None else inverse_frequencies
    angles = positions[..., None] * frequencies.astype(np.float64)
    if sections is not None:
        angles = _choose_axes(angles, sections, section_layout)
    cos, sin = ((f(angles) * attention_factor).astype(h.dtype) for f in (np.cos, np.sin))
    turned = np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1 if interleaved else -2)
    return turned.reshape(x.shape).astype(x.dtype)


def _choose_axes(angles, sections, section_layout):
    """Of the angles (3, ..., pairs) of time, height and width, the one that each pair turns by."""
    chosen = angles[0].copy()
    for axis in (1, 2):
        if section_layout == "interleaved":
            pairs = slice(axis, 3 * sections[axis], 3)
        else:
            pairs = slice(sum(sections[:axis]), sum(sections[: axis + 1]))
        chosen[..., pairs] = angles[axis][..., pairs]
    return chosen
