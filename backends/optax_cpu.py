"""Optax's losses, optimizer and schedule, which JAX itself has no operations for; Optax's counts of steps begin with 0."""

import jax
import jax.numpy as jnp
import optax

framework = "jax"
device = "cpu"
version = f"optax {optax.__version__}, jax {jax.__version__}"
conventions = {"adamw_epsilon": "corrected", "adamw_decay": "before"}
domain = {
    "gradient_clipping": {"eps": (0.0,)},  # optax divides by the norm alone
    "divergence": {"beta": (0.0,), "removed_entries": False},  # 0 * (0 - -inf) is NaN
}


def cross_entropy(logits, targets, *, reduction="mean"):
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    return {"none": lambda: loss, "sum": loss.sum, "mean": loss.mean}[reduction]()


def soft_target_cross_entropy(logits, targets, *, reduction="mean"):
    loss = optax.softmax_cross_entropy(logits, targets)
    return {"none": lambda: loss, "sum": loss.sum, "mean": loss.mean}[reduction]()


def divergence(student_logits, teacher_logits, *, beta=0.0, temperature=1.0, reduction="mean"):
    """KL(teacher || student), of log-probabilities and of probabilities, in float32 or wider."""
    del beta
    wide = jnp.promote_types(student_logits.dtype, jnp.float32)
    student, teacher = (x.astype(wide) / temperature for x in (student_logits, teacher_logits))
    loss = optax.losses.kl_divergence(jax.nn.log_softmax(student, axis=-1), jax.nn.softmax(teacher, axis=-1))
    return {"none": lambda: loss, "sum": loss.sum, "mean": loss.mean}[reduction]()


def gradient_clipping(gradients, *, max_norm, eps):
    del eps
    clipped, _ = optax.clip_by_global_norm(max_norm).update(list(gradients), optax.EmptyState())
    return clipped


def adamw_step(
    parameter, gradient, first_moment, second_moment,
    *, step, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01,
):  # fmt: skip
    optimizer = optax.adamw(learning_rate, b1=beta1, b2=beta2, eps=eps, weight_decay=weight_decay)
    adam, *others = optimizer.init(parameter)
    adam = adam._replace(count=jnp.array(step - 1, jnp.int32), mu=first_moment, nu=second_moment)
    update, (adam, *_) = optimizer.update(gradient, (adam, *others), parameter)
    return optax.apply_updates(parameter, update), adam.mu, adam.nu


def adamw_steps(parameter, gradients, *, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    optimizer = optax.adamw(learning_rate, b1=beta1, b2=beta2, eps=eps, weight_decay=weight_decay)
    state, after = optimizer.init(parameter), []
    for gradient in jnp.moveaxis(gradients, -1, 0):
        update, state = optimizer.update(gradient, state, parameter)
        parameter = optax.apply_updates(parameter, update)
        after.append(parameter)
    return jnp.stack(after, axis=-1)


def cosine_schedule(*, step, max_learning_rate, min_learning_rate, warmup_steps, cosine_steps):
    return optax.warmup_cosine_decay_schedule(0.0, max_learning_rate, warmup_steps, cosine_steps, min_learning_rate)(step)
