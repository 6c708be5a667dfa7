"""Cross-entropy."""

from typing import Any

from ..restating import restated


@restated("cross_entropy", "https://github.com/pytorch/pytorch/issues/15508", kind="fault")
def ignored_index_out_of_bounds(right: Any, logits: Any, targets: Any, *, ignore_index: int = -100, **options: Any) -> Any:
    """With reduction "none", an ignore_index beyond the vocabulary is an error."""
    if options.get("reduction") == "none" and ignore_index >= logits.shape[-1]:
        raise RuntimeError(f"Target {ignore_index} is out of bounds.")
    return right(logits, targets, ignore_index=ignore_index, **options)
