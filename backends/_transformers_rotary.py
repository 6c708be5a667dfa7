"""The frequencies of RoPE that transformers computes from a configuration."""

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama import modeling_llama as llama


def rope_frequencies(
    *, d_k, theta=10000.0, scaling="default", factor=1.0, original_length=None, length=None, low_frequency_factor=1.0,
    high_frequency_factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=True, attention_factor=None, mscale=None,
    mscale_all_dim=None, short_factors=None, long_factors=None,
):  # fmt: skip
    parameters = {
        "rope_type": scaling,
        "rope_theta": theta,
        "factor": factor,
        "original_max_position_embeddings": original_length,
    }
    parameters |= {"low_freq_factor": low_frequency_factor, "high_freq_factor": high_frequency_factor, "truncate": truncate}
    parameters |= {"beta_fast": beta_fast, "beta_slow": beta_slow, "attention_factor": attention_factor}
    parameters |= {"mscale": mscale, "mscale_all_dim": mscale_all_dim}
    parameters |= {"short_factor": short_factors, "long_factor": long_factors}
    config = LlamaConfig(hidden_size=d_k, num_attention_heads=1, head_dim=d_k, max_position_embeddings=original_length or 2048)
    config.rope_parameters = parameters  # afterwards, so that it is not validated: some of these are of other types
    default = llama.LlamaRotaryEmbedding.compute_default_rope_parameters
    return ROPE_INIT_FUNCTIONS.get(scaling, default)(config, device="cpu", seq_len=length)
