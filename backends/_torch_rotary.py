"""RoPE of torch_cpu, and its frequencies in float32."""

import math

import torch

from ._torch_functions import device, in_float32


def yarn_scale(factor, mscale=1.0):
    return 0.1 * mscale * math.log(factor) + 1


def rope_frequencies(
    *, d_k, theta=10000.0, scaling="default", factor=1.0, original_length=None, length=None,
    low_frequency_factor=1.0, high_frequency_factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=True,
    attention_factor=None, mscale=None, mscale_all_dim=None, short_factors=None, long_factors=None, device=device,
):  # fmt: skip
    o, k, a = original_length, torch.arange(0, d_k, 2, device=device).float(), 1.0
    if scaling == "dynamic" and (length or o) > o:
        theta = theta * (factor * length / o - (factor - 1)) ** (d_k / (d_k - 2))
    f = 1 / theta ** (k / d_k)
    if scaling == "linear":
        f = f / factor
    elif scaling == "yarn":
        lo, hi = (d_k * math.log(o / (2 * math.pi * beta)) / (2 * math.log(theta)) for beta in (beta_fast, beta_slow))
        lo, hi = (math.floor(lo), math.ceil(hi)) if truncate else (lo, hi)
        lo, hi = max(lo, 0), min(hi, d_k - 1)
        ramp = ((k / 2 - lo) / (hi - lo if hi != lo else 0.001)).clamp(0, 1)
        f, a = f / factor * ramp + f * (1 - ramp), yarn_scale(factor)
        if mscale and mscale_all_dim:
            a = yarn_scale(factor, mscale) / yarn_scale(factor, mscale_all_dim)
    elif scaling == "llama3":
        low, high, turns = low_frequency_factor, high_frequency_factor, o * f / (2 * math.pi)
        smooth = (turns - low) / (high - low)
        between = (1 - smooth) * f / factor + smooth * f
        f = torch.where(turns < low, f / factor, torch.where(turns > high, f, between))
    elif scaling == "longrope":
        f = f / torch.tensor(long_factors if length is not None and length > o else short_factors, device=device)
        a = math.sqrt(1 + math.log(factor) / math.log(o))
    a = attention_factor if attention_factor is not None and scaling in ("yarn", "longrope") else a
    return f, torch.tensor(a, dtype=torch.float32, device=device)


@in_float32
def rope(
    x, positions, inverse_frequencies=None, *, theta=10000.0, layout="interleaved", rotary_dim=None, attention_factor=1.0,
    sections=None, section_layout="chunked",
):  # fmt: skip
    r, interleaved = x.shape[-1] if rotary_dim is None else rotary_dim, layout == "interleaved"
    x, passed = x[..., :r], x[..., r:]
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, dim=-1)
    if inverse_frequencies is None:
        k = torch.arange(0, r, 2, dtype=torch.float64, device=x.device)
        base = torch.ones_like(k) * theta  # for torch.compile, which compiles the power of a float anew for each float
        inverse_frequencies = base ** (-k / max(r, 1))
    if sections is None:
        positions = positions[..., None]
    elif section_layout == "interleaved":
        axes = [k % 3 if k < 3 * sections[k % 3] else 0 for k in range(r // 2)]
        positions = positions.movedim(0, -1)[..., torch.tensor(axes, dtype=torch.long, device=x.device)]
    else:
        sizes = torch.tensor(sections, device=x.device)
        positions = positions.movedim(0, -1).repeat_interleave(sizes, dim=-1)
    angles = positions * inverse_frequencies.double()
    cos, sin = ((f(angles) * attention_factor).to(x.dtype) for f in (torch.cos, torch.sin))
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1 if interleaved else -2).reshape(x.shape)
    return turned if rotary_dim is None else torch.cat([turned, passed], dim=-1)
