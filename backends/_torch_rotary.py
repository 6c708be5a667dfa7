"""Frequencies of RoPE in float32, of torch_cpu."""

import math

import torch

from ._torch_functions import device


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
