"""newton_schulz by every usual form, and muon_step in the dtype of its arguments and in bfloat16."""

import torch

JORDAN = (3.4445, -4.775, 2.0315)


class Orthogonalization:
    """How each style orthogonalizes: `step` has one step, and `enter` the dtype of the computation."""

    @staticmethod
    def enter(x):
        return x if x.dtype == torch.float64 else x.float()

    @staticmethod
    def step(y, a, b, c):
        gram = y @ y.mT
        return a * y + (b * gram + c * gram @ gram) @ y

    def newton_schulz(self, x, *, steps=5, coefficients=JORDAN, eps=1e-7):
        y = self.enter(x)
        y = y / (y.square().sum((-2, -1), keepdim=True).sqrt() + eps)
        for _ in range(steps):
            y = self.step(y, *coefficients)
        return y.to(x.dtype)


class RowsAlways(Orthogonalization):
    """A = X Xᵀ, also where X has more rows than columns."""

    framework = "torch"


class ColumnsAlways(Orthogonalization):
    """B = Xᵀ X, also where X has more columns than rows."""

    framework = "torch"

    @staticmethod
    def step(y, a, b, c):
        gram = y.mT @ y
        return a * y + y @ (b * gram + c * gram @ gram)


class Horner(Orthogonalization):
    """(a I + (b I + c A) A) X, with identity matrices."""

    framework = "torch"

    @staticmethod
    def step(y, a, b, c):
        gram = y @ y.mT
        one = torch.eye(gram.shape[-1], dtype=y.dtype)
        return (a * one + (b * one + c * gram) @ gram) @ y


class Powers(Orthogonalization):
    """a X + b (X Xᵀ) X + c (X Xᵀ) (X Xᵀ) X, from the right to the left."""

    framework = "torch"

    @staticmethod
    def step(y, a, b, c):
        third = y @ (y.mT @ y)
        return a * y + b * third + c * (third @ y.mT) @ y


class InTheDtype(Orthogonalization):
    """The norm and each product are rounded to the dtype, as in the code of Muon (class mixed)."""

    framework = "torch"

    @staticmethod
    def enter(x):
        return x

    def newton_schulz(self, x, *, steps=5, coefficients=JORDAN, eps=1e-7):
        a, b, c = coefficients
        y = x.mT if x.shape[-2] > x.shape[-1] else x
        y = (y.double() / (torch.linalg.matrix_norm(y, keepdim=True).double() + eps)).to(x.dtype)
        for _ in range(steps):
            gram = y @ y.mT
            square = gram @ gram
            update = (b * gram.double() + c * square.double()).to(x.dtype)
            y = (a * y.double() + (update @ y).double()).to(x.dtype)
        return y.mT if x.shape[-2] > x.shape[-1] else y

    def muon_step(
        self, parameter, gradient, momentum_buffer,
        *, learning_rate, momentum=0.95, nesterov=True, weight_decay=0.0, adjust="original", **settings,
    ):  # fmt: skip
        averaged = momentum_buffer.lerp(gradient, 1 - momentum)
        y = gradient.lerp(averaged, momentum) if nesterov else averaged
        rows, columns = parameter.shape
        factor = max(1, rows / columns) ** 0.5 if adjust == "original" else 0.2 * max(rows, columns) ** 0.5
        update = self.newton_schulz(y, **settings).to(parameter.dtype)
        return (parameter * (1 - learning_rate * weight_decay)).add(update, alpha=-learning_rate * factor), averaged


class InBfloat16(InTheDtype):
    """As Keller Jordan's code: bfloat16 whatever the arguments are, in which each step of the polynomial is rounded, too."""

    conventions = {"muon_compute": "bfloat16"}

    def newton_schulz(self, x, *, steps=5, coefficients=JORDAN, eps=1e-7):
        a, b, c = coefficients
        y = x.bfloat16().mT if x.shape[-2] > x.shape[-1] else x.bfloat16()
        y = y / (y.norm(dim=(-2, -1), keepdim=True) + eps)
        for _ in range(steps):
            gram = y @ y.mT
            y = a * y + (b * gram + c * gram @ gram) @ y
        return y.mT if x.shape[-2] > x.shape[-1] else y
