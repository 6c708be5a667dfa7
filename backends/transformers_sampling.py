"""Hugging Face transformers' processors of logits: the repetition penalty, the temperature, top_k, top_p and min_p."""

import torch
import transformers
from transformers.generation import logits_process as processors

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
conventions = {
    "temperature_order": "first",
    "top_k_ties": "all",
    "top_p_mass": "after top_k",
    "top_p_ties": "some",
}


def _process(steps, input_ids, logits):
    """Processors take a batch with one axis."""
    flat = logits.reshape(logits.shape[:-1].numel(), logits.shape[-1])
    if len(flat):
        flat = processors.LogitsProcessorList(steps)(input_ids, flat)
    return flat.reshape(logits.shape)


def sampling_probabilities(logits, *, temperature=1.0, top_k=None, top_p=None, min_p=None):
    """The order of `generate`, which computes in float32, and adds a processor where its value changes something."""
    scores = logits if logits.dtype == torch.float64 else logits.float()
    steps = [processors.TemperatureLogitsWarper(temperature)] if temperature != 1 else []
    steps += [processors.TopKLogitsWarper(top_k)] if top_k is not None else []
    steps += [processors.TopPLogitsWarper(top_p)] if top_p is not None and top_p < 1 else []
    steps += [processors.MinPLogitsWarper(min_p)] if min_p is not None else []
    return torch.softmax(_process(steps, None, scores), dim=-1)


def penalize_logits(logits, output_ids, prompt_ids=None, *, repetition_penalty=1.0):
    ids = output_ids if prompt_ids is None else torch.cat([prompt_ids, output_ids], dim=-1)
    ids = ids.reshape(logits.shape[:-1].numel(), ids.shape[-1])
    return _process([processors.RepetitionPenaltyLogitsProcessor(repetition_penalty)], ids, logits)
