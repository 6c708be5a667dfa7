"""Losses and the learning rate of the oracle, compared with 60 digits."""

from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reference_numpy.adamw_step import adamw_step
from reference_numpy.adamw_steps import adamw_steps
from reference_numpy.cosine_schedule import cosine_schedule
from reference_numpy.cross_entropy import cross_entropy
from reference_numpy.divergence import divergence
from reference_numpy.dpo_loss import dpo_loss
from reference_numpy.gradient_clipping import gradient_clipping
from reference_numpy.group_advantages import group_advantages
from reference_numpy.linear import linear
from reference_numpy.linear_cross_entropy import linear_cross_entropy
from reference_numpy.policy_loss import policy_loss
from reference_numpy.soft_target_cross_entropy import soft_target_cross_entropy
from reference_numpy.token_log_probs import token_log_probs

from ..support.sixty_digits import DIGITS, U, assert_within, rng

OPTIONS: list[dict[str, Any]] = [
    {},
    {"label_smoothing": 0.25},
    {"z_loss": 0.125},
    {"softcap": 2.5},
    {"ignore_index": 2, "label_smoothing": 1.0, "z_loss": 0.5, "softcap": 30.0},
]
WEIGHTED: list[dict[str, Any]] = [
    {"weight": np.array([0.5, 2.0, 0.0, 1.0, 4.0])},
    {"weight": np.array([0.5, 2.0, 3.0, 1.0, 4.0]), "label_smoothing": 0.25, "ignore_index": 2, "softcap": 2.5},
]


def _row_loss(row: Any, target: int, options: dict[str, Any]) -> Any:
    """Return the loss of one row in 60 digits."""
    if target == options.get("ignore_index", -100):
        return mpf(0)
    z = [mpf(float(x)) for x in row]
    if cap := options.get("softcap"):
        z = [mpf(cap) * mpmath.tanh(x / mpf(cap)) for x in z]
    lse = mpmath.log(sum(mpmath.exp(x) for x in z))
    e = mpf(options.get("label_smoothing", 0.0))
    w = list(map(mpf, map(float, options.get("weight", [1.0] * len(z)))))
    smooth = sum(one * (lse - x) for one, x in zip(w, z, strict=True)) / len(z)
    return (1 - e) * w[target] * (lse - z[target]) + e * smooth + mpf(options.get("z_loss", 0.0)) * lse**2


@pytest.mark.parametrize("options", [*OPTIONS, *WEIGHTED], ids=lambda options: ", ".join(options) or "plain")
def test_cross_entropy(options: dict[str, Any]) -> None:
    """Every intermediate number is at most 30 for these logits, and its square, with the z_loss, below 900."""
    r = rng(41)
    logits, targets = 4 * r.standard_normal((6, 5)), np.array([0, 4, 2, 2, 1, 3])
    with mpmath.workdps(DIGITS):
        rows = [_row_loss(row, int(t), options) for row, t in zip(logits, targets, strict=True)]
        weights = options.get("weight", np.ones(logits.shape[-1]))
        kept = mpf(sum(weights[t] for t in targets if int(t) != options.get("ignore_index", -100)))
        total = sum(rows)
        mean = total / kept
    assert_within(cross_entropy(logits, targets, reduction="none", **options), rows, 60 * U * 900)
    assert_within(cross_entropy(logits, targets, reduction="sum", **options), [total], 60 * U * 900 * 6)
    assert_within(cross_entropy(logits, targets, **options), [mean], 60 * U * 900 * 6)


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_soft_target_cross_entropy(smoothing: float) -> None:
    """No logit is beyond 20 and no weight beyond 4, so that no term and no loss exceeds 200."""
    r = rng(45)
    logits, weight = 4 * r.standard_normal((6, 5)), np.array([0.5, 2.0, 0.0, 1.0, 4.0])
    targets = r.multinomial(64, np.full(5, 0.2), 6) / 64
    with mpmath.workdps(DIGITS):
        rows = []
        for z, q in zip(logits, targets, strict=True):
            lse = mpmath.log(sum(mpmath.exp(mpf(float(x))) for x in z))
            share = [(1 - mpf(smoothing)) * mpf(float(x)) + mpf(smoothing) / 5 for x in q]
            rows.append(sum(mpf(float(w)) * s * (lse - mpf(float(x))) for w, s, x in zip(weight, share, z, strict=True)))
    for reduction, expected in (("none", rows), ("sum", [sum(rows)]), ("mean", [sum(rows) / 6])):
        got = soft_target_cross_entropy(logits, targets, weight, label_smoothing=smoothing, reduction=reduction)
        assert_within(got, expected, 60 * U * 200 * 6)


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_dpo_loss(smoothing: float) -> None:
    """Scores from 0 to 700; beta times the four logarithms is at most 1500."""
    r = rng(46)
    pairs = [-400 * r.random(6) * np.array([1e-3, 0.01, 0.1, 1, 1, 1]) for _ in range(4)]
    with mpmath.workdps(DIGITS):
        chosen, rejected, of_chosen, of_rejected = ([mpf(float(x)) for x in p] for p in pairs)
        scores = [mpf(0.875) * ((a - b) - (c - d)) for a, b, c, d in zip(chosen, rejected, of_chosen, of_rejected, strict=True)]
        rows = [
            (1 - mpf(smoothing)) * mpmath.log1p(mpmath.exp(-x)) + mpf(smoothing) * mpmath.log1p(mpmath.exp(x)) for x in scores
        ]
        mean = sum(rows) / 6
    got = dpo_loss(*pairs, beta=0.875, label_smoothing=smoothing, reduction="none")
    assert_within(got, rows, 10 * U * 1500)
    assert_within(dpo_loss(*pairs, beta=0.875, label_smoothing=smoothing), [mean], 16 * U * 1500)


@pytest.mark.parametrize("temperature", [1.0, 0.375])
def test_token_log_probs(temperature: float) -> None:
    """No logit over the temperature is beyond 60, and one entry of each row is removed."""
    r = rng(47)
    logits, targets = 4 * r.standard_normal((6, 5)), np.array([0, 4, 2, 1, 1, 4])
    logits[:, 3] = -np.inf
    with mpmath.workdps(DIGITS):
        rows = [[mpf(float(x)) / mpf(temperature) for x in row if np.isfinite(x)] for row in logits]
        lse = [mpmath.log(sum(map(mpmath.exp, row))) for row in rows]
        left = [t - (t > 3) for t in targets]
        log_probs = [row[t] - one for row, t, one in zip(rows, left, lse, strict=True)]
        entropy = [-sum(mpmath.exp(x - one) * (x - one) for x in row) for row, one in zip(rows, lse, strict=True)]
    got = token_log_probs(logits, targets, temperature=temperature)
    for one, expected in zip(got, (log_probs, entropy), strict=True):
        assert_within(one, expected, 30 * U * 60)


@pytest.mark.parametrize("baseline", ["mean", "leave-one-out"])
@pytest.mark.parametrize("normalize", ["std", "batch_std", "none"])
def test_group_advantages(normalize: str, baseline: str) -> None:
    """Rewards below 20, of which no deviation is below 1/4, so that no advantage has an error of more than 40 roundings of 20."""
    rewards = 5 * rng(48).standard_normal(12)
    with mpmath.workdps(DIGITS):
        r = [mpf(float(x)) for x in rewards]
        expected = []
        for i in range(12):
            group = r[i // 4 * 4 : i // 4 * 4 + 4]
            row = group if normalize == "std" else r
            mean = sum(row) / len(row)
            deviation = mpmath.sqrt(sum((x - mean) ** 2 for x in row) / (len(row) - 1))
            base = (sum(group) - r[i]) / 3 if baseline == "leave-one-out" else sum(group) / 4
            expected.append((r[i] - base) / (1 if normalize == "none" else deviation + mpf(0.125)))
    got = group_advantages(rewards, group_size=4, normalize=normalize, baseline=baseline, eps=0.125)
    assert_within(got, expected, 40 * U * 20)


def _policy_tokens(x: Any, a: Any, mask: Any, old: Any, ref: Any, objective: str, level: str, estimator: str) -> list[list[Any]]:
    """Return the loss of each token in 60 digits, with the clips ¼ and ⅜, a ratio_limit of 2 and a kl_weight of ½."""
    rows = []
    for i, (new, before) in enumerate(zip(x, old, strict=True)):
        moves = [mpf(float(p)) - mpf(float(q)) for p, q in zip(new, before, strict=True)]
        kept, row = [move for move, m in zip(moves, mask[i], strict=True) if m], []
        for j, move in enumerate(moves):
            r = mpmath.exp(sum(kept) / len(kept) if level == "sequence" else move)
            advantage, log_prob, d = mpf(float(a[i])), mpf(float(new[j])), mpf(float(ref[i][j])) - mpf(float(new[j]))
            w = min(max(r, mpf(0.75)), mpf(1.375))
            loss = {
                "clip": -min(min(r, mpf(2)) * advantage, w * advantage),
                "cispo": -w * advantage * log_prob,
                "reinforce": -advantage * log_prob,
            }[objective]
            kl = {"k1": -d, "k2": d * d / 2, "k3": mpmath.exp(d) - d - 1}[estimator]
            row.append(loss + kl / 2 if mask[i][j] else mpf(0))
        rows.append(row)
    return rows


POLICIES = [("clip", "token", "k3"), ("clip", "sequence", "k1"), ("cispo", "token", "k2"), ("reinforce", "token", "k3")]


@pytest.mark.parametrize(("objective", "level", "estimator"), POLICIES)
def test_policy_loss(objective: str, level: str, estimator: str) -> None:
    """Ratios up to e³, advantages below 8 and log-probabilities above −12, so that no token costs more than 200."""
    r = rng(50)
    x, moves, away = -8 * r.random((4, 5)), r.uniform(-3, 3, (4, 5)), r.uniform(-2, 2, (4, 5))
    a, mask = np.clip(3 * r.standard_normal(4), -8, 8), r.random((4, 5)) < 0.7
    mask[:, 0] = True
    arrays = (x, a, mask, x - moves, x + away)
    given: dict[str, Any] = {"objective": objective, "level": level, "kl_estimator": estimator, "kl_weight": 0.5}
    given |= {"clip_low": 0.25, "clip_high": 0.375, "ratio_limit": 2.0}
    with mpmath.workdps(DIGITS):
        rows = _policy_tokens(*arrays, objective, level, estimator)
        sums, counts = [sum(row) for row in rows], [int(m.sum()) for m in mask]
        expected = {
            "none": [loss for row in rows for loss in row],
            "token-mean": [sum(sums) / sum(counts)],
            "seq-mean-token-mean": [sum(s / n for s, n in zip(sums, counts, strict=True)) / 4],
            "seq-mean-token-sum": [sum(sums) / 4],
            "constant": [sum(sums) / (4 * 9)],
        }
    for reduction, value in expected.items():
        got = policy_loss(*arrays, **given, reduction=reduction, horizon=9)
        assert_within(np.reshape(got, -1), value, 40 * U * 200)


def test_what_policy_loss_does_not_know_is_named() -> None:
    arrays = (-np.ones((2, 3)), np.ones(2), np.ones((2, 3), dtype=bool))
    for option in ({"objective": "ppo"}, {"level": "batch"}, {"kl_estimator": "k4"}, {"reduction": "average"}):
        with pytest.raises(ValueError, match="|".join(option.values())):
            policy_loss(*arrays, **option)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs reference_log_probs"):
        policy_loss(*arrays, kl_weight=0.1)


def test_groups_that_cannot_be_made_are_named() -> None:
    for size in (1, 5):
        with pytest.raises(ValueError, match=f"groups of {size}"):
            group_advantages(np.ones(12), group_size=size)
    for option in ({"normalize": "max"}, {"baseline": "median"}):
        with pytest.raises(ValueError, match=r"max|median"):
            group_advantages(np.ones(12), group_size=4, **option)  # type: ignore[arg-type]


def _softmax(row: Any, temperature: float) -> list[Any]:
    """Return the softmax of one row in 60 digits, without its entries of -inf."""
    e = [mpmath.exp(mpf(float(x)) / mpf(temperature)) for x in row if np.isfinite(x)]
    return [x / sum(e) for x in e]


def _kl(p: list[Any], q: list[Any]) -> Any:
    return sum(a * mpmath.log(a / b) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("beta", [0.0, 0.25, 1.0])
def test_divergence(beta: float) -> None:
    """No logit over the temperature is beyond 40; one entry is removed in both, and one row is ignored."""
    r = rng(49)
    student, teacher = 4 * r.standard_normal((2, 6, 5))
    student[:, 3] = teacher[:, 3] = -np.inf
    with mpmath.workdps(DIGITS):
        rows = []
        for s, t in zip(student, teacher, strict=True):
            q, p, weight = _softmax(s, 0.75), _softmax(t, 0.75), mpf(beta)
            m = [weight * a + (1 - weight) * b for a, b in zip(p, q, strict=True)]
            between = weight * _kl(p, m) + (1 - weight) * _kl(q, m)
            rows.append({0.0: _kl(p, q), 1.0: _kl(q, p)}.get(beta, between))
        rows[2] = mpf(0)
        total = sum(rows)
    given: dict[str, Any] = {"targets": np.array([1, 1, 7, 1, 1, 1]), "ignore_index": 7, "beta": beta, "temperature": 0.75}
    for reduction, expected in (("none", rows), ("sum", [total]), ("mean", [total / 5])):
        assert_within(divergence(student, teacher, **given, reduction=reduction), expected, 60 * U * 40 * 6)


def test_linear_cross_entropy_is_cross_entropy_of_linear() -> None:
    r = rng(42)
    x, w, targets = r.standard_normal((2, 3, 4)), r.standard_normal((7, 4)), r.integers(0, 7, (2, 3))
    for options in OPTIONS:
        assert linear_cross_entropy(x, w, targets, **options) == cross_entropy(linear(x, w), targets, **options)


def test_the_mean_of_no_rows_is_undefined() -> None:
    assert np.isnan(cross_entropy(np.ones((2, 3)), np.array([-100, -100])))
    assert np.isnan(cross_entropy(np.ones((0, 3)), np.zeros(0, dtype=int)))
    assert cross_entropy(np.ones((2, 3)), np.array([-100, -100]), reduction="sum") == 0


def test_unknown_reductions_are_named() -> None:
    with pytest.raises(ValueError, match="average"):
        cross_entropy(np.ones((2, 3)), np.array([0, 1]), reduction="average")
    with pytest.raises(ValueError, match="average"):
        soft_target_cross_entropy(np.ones((2, 3)), np.ones((2, 3)) / 3, reduction="average")
    with pytest.raises(ValueError, match="average"):
        divergence(*np.ones((2, 2, 3)), reduction="average")
    with pytest.raises(ValueError, match="sum"):
        dpo_loss(*np.ones((4, 3)), reduction="sum")


def test_a_weight_beside_a_z_loss_is_refused() -> None:
    with pytest.raises(ValueError, match="not defined together"):
        cross_entropy(np.ones((2, 3)), np.array([0, 1]), np.ones(3), z_loss=0.1)


def test_cosine_schedule() -> None:
    """The rate is at most 1, and each of its few steps, and the angle of up to 4, has an error of at most 2 u."""
    rates = {"max_learning_rate": 1.0, "min_learning_rate": 0.0625, "warmup_steps": 3, "cosine_steps": 20}
    exact: list[Any] = []
    with mpmath.workdps(DIGITS):
        for step in range(25):
            if step < 3:
                exact.append(mpf(step) / 3)
            elif step > 20:
                exact.append(mpf(0.0625))
            else:
                exact.append(mpf(0.0625) + (1 + mpmath.cos(mpmath.pi * (step - 3) / 17)) / 2 * mpf(0.9375))
    assert_within([cosine_schedule(step=step, **rates) for step in range(25)], exact, 20 * U)


@pytest.mark.parametrize("step", [1, 2, 1000])
def test_adamw_step(step: int) -> None:
    """Every intermediate number but the quotient is below 10; the quotient is below 40, and its steps err by 20 u in all."""
    r = rng(43)
    p, g, m = r.standard_normal((3, 20))
    v = np.square(r.standard_normal(20)) + 0.01
    settings = {"learning_rate": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3, "weight_decay": 0.25}
    exact: list[list[Any]] = [[], [], []]
    with mpmath.workdps(DIGITS):
        a, b1, b2, eps, d = (mpf(x) for x in settings.values())
        for row in zip(p, g, m, v, strict=True):
            p_, g_, m_, v_ = (mpf(float(x)) for x in row)
            m_, v_ = b1 * m_ + (1 - b1) * g_, b2 * v_ + (1 - b2) * g_**2
            root = mpmath.sqrt(v_ / (1 - b2**step)) + eps
            for found, value in zip(exact, (p_ * (1 - a * d) - a * (m_ / (1 - b1**step)) / root, m_, v_), strict=True):
                found.append(value)
    for got, value in zip(adamw_step(p, g, m, v, step=step, **settings), exact, strict=True):
        assert_within(got, value, 1000 * U)


@pytest.mark.parametrize("share", [0.25, 0.999, 1.5])
def test_gradient_clipping(share: float) -> None:
    """The numbers are below 10, and their sum of squares below 200: its steps err by at most 20 u in relation to it."""
    r = rng(44)
    gradients = [r.standard_normal(shape) for shape in ((2, 3), (), (17,), (0,))]
    flat = np.concatenate([g.ravel() for g in gradients])
    with mpmath.workdps(DIGITS):
        norm = mpmath.sqrt(sum(mpf(float(x)) ** 2 for x in flat))
        limit = float(norm * share)
        factor = mpf(1) if norm < mpf(limit) else mpf(limit) / (norm + mpf(0.001))
        exact = [mpf(float(x)) * factor for x in flat]
    got = gradient_clipping(gradients, max_norm=limit, eps=0.001)
    assert [g.shape for g in got] == [g.shape for g in gradients]
    assert_within(np.concatenate([g.ravel() for g in got]), exact, 200 * U)


def test_a_norm_of_exactly_the_limit_is_scaled() -> None:
    for eps, expected in ((0.0, 3.0), (1.0, 2.5)):
        assert gradient_clipping([[3.0], [4.0]], max_norm=5.0, eps=eps)[0] == expected
    assert gradient_clipping([[3.0], [4.0]], max_norm=np.nextafter(5.0, 6.0), eps=1.0)[0] == 3.0


def test_adamw_steps_are_steps_from_moments_of_zero() -> None:
    r = rng(45)
    p, g = r.standard_normal(4), r.standard_normal((4, 3))
    m = v = np.zeros(4)
    settings = {"learning_rate": 0.1, "eps": 1e-3, "weight_decay": 0.25}
    after = adamw_steps(p, g, **settings)
    for i in range(3):
        p, m, v = adamw_step(p, g[:, i], m, v, step=i + 1, **settings)
        assert np.array_equal(after[:, i], p)
