"""Keras's loss, its AdamW, its clipping of gradients and its schedule, on whichever of its backends Keras runs."""

import keras
from keras import ops


def cross_entropy(logits, targets, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    classes, dtype = logits.shape[-1], "float64" if "float64" in str(logits.dtype) else "float32"
    rows, ids = logits.reshape(-1, classes), targets.reshape(-1)  # on NumPy, ops.reshape casts float64 to float32
    if label_smoothing:
        kept, reductions = ops.not_equal(ids, ignore_index), {"mean": "mean_with_sample_weight", "sum": "sum", "none": None}
        options = {"from_logits": True, "label_smoothing": label_smoothing, "reduction": reductions[reduction], "dtype": dtype}
        labels = ops.one_hot(ops.where(kept, ids, 0), classes, dtype=dtype)
        loss = keras.losses.CategoricalCrossentropy(**options)(labels, rows, sample_weight=ops.cast(kept, dtype))
    else:
        reductions = {"mean": "sum_over_batch_size", "sum": "sum", "none": None}
        options = {"from_logits": True, "ignore_class": ignore_index, "reduction": reductions[reduction], "dtype": dtype}
        loss = keras.losses.SparseCategoricalCrossentropy(**options)(ids, rows)
    return ops.reshape(loss, targets.shape) if reduction == "none" else loss


def gradient_clipping(gradients, *, max_norm, eps):
    del eps  # which the domain says: Keras divides by the norm alone
    steps = [_variable(ops.zeros_like(g)) for g in gradients]
    keras.optimizers.SGD(1.0, global_clipnorm=max_norm).apply(list(gradients), steps)  # a step from 0 is the gradient, negated
    return [-ops.convert_to_tensor(step) for step in steps]


def _variable(value):
    return keras.Variable(ops.copy(value), dtype=keras.backend.standardize_dtype(value.dtype))


def _adamw(parameter, learning_rate, beta1, beta2, eps, weight_decay):
    variable = _variable(parameter)
    optimizer = keras.optimizers.AdamW(learning_rate, weight_decay, beta1, beta2, eps)
    optimizer.build([variable])
    return variable, optimizer


def adamw_step(
    parameter, gradient, first_moment, second_moment,
    *, step, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01,
):  # fmt: skip
    variable, optimizer = _adamw(parameter, learning_rate, beta1, beta2, eps, weight_decay)
    states = {v.name.rpartition("_")[2]: v for v in optimizer.variables}
    states["iteration"].assign(step - 1)
    states["momentum"].assign(ops.copy(first_moment))
    states["velocity"].assign(ops.copy(second_moment))
    optimizer.apply([gradient], [variable])
    return tuple(ops.copy(ops.convert_to_tensor(v)) for v in (variable, states["momentum"], states["velocity"]))


def adamw_steps(parameter, gradients, *, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    (variable, optimizer), after = _adamw(parameter, learning_rate, beta1, beta2, eps, weight_decay), []
    for i in range(gradients.shape[-1]):
        optimizer.apply([gradients[..., i]], [variable])
        after.append(ops.copy(ops.convert_to_tensor(variable)))
    return ops.stack(after, axis=-1)


def cosine_schedule(*, step, max_learning_rate, min_learning_rate, warmup_steps, cosine_steps):
    first = ops.convert_to_tensor(0.0 if warmup_steps else max_learning_rate, "float64")  # whose dtype the result has
    last = min_learning_rate / max_learning_rate
    warmup = {"warmup_target": max_learning_rate, "warmup_steps": warmup_steps} if warmup_steps else {}
    return keras.optimizers.schedules.CosineDecay(first, cosine_steps - warmup_steps, last, **warmup)(step).item()
