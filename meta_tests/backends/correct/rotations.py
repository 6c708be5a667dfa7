"""rope by every usual formula."""

import math

import torch

from ._torch_parts import HALF, Rotation, widely


class Complex(Rotation):
    """Each pair as a complex number, times a unit number."""

    def turned(self, a, b, angle):
        unit = torch.polar(torch.ones_like(angle), angle).to(torch.complex128 if a.dtype == torch.float64 else torch.complex64)
        return torch.view_as_real(torch.complex(a, b) * unit).unbind(-1)


class RotateHalf(Rotation):
    """x cos + rotated(x) sin, with cosines and sines repeated to the width of x, in the order of the layout."""

    @widely
    def rope(self, x, positions, *, theta=10000.0, layout="interleaved"):
        angle = self.angles(positions, x.shape[-1] // 2, theta)
        if layout == "interleaved":
            angle, other = angle.repeat_interleave(2, -1), torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
        else:
            angle, (a, b) = torch.cat([angle, angle], -1), x.chunk(2, -1)
            other = torch.cat([-b, a], -1)
        return x * angle.cos().to(x.dtype) + other * angle.sin().to(x.dtype)


class Float32Angles(Rotation):
    """Angles in float32 by 1 / theta ** (arange / d), as Llama's own code has them (float64 for float64)."""

    def angles(self, positions, pairs, theta):
        wide = self.wide
        inverse = 1.0 / theta ** (torch.arange(0, 2 * pairs, 2, dtype=wide) / (2 * pairs))
        return positions[..., None].to(wide) * inverse

    def turned(self, a, b, angle):
        return super().turned(a, b, angle)

    def rope(self, x, positions, *, theta=10000.0, layout="interleaved"):
        self.wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        return super().rope(x, positions, theta=theta, layout=layout)


class ExponentialOfLogarithm(Float32Angles):
    """Frequencies as exp(-log(theta) 2k/d), in float32."""

    def angles(self, positions, pairs, theta):
        k = torch.arange(0, 2 * pairs, 2, dtype=self.wide)
        return positions[..., None].to(self.wide) * torch.exp(k * (-math.log(theta) / (2 * pairs)))


class Table(Float32Angles):
    """A float32 table of cosines and sines of the positions that occur, from which each token gathers its row."""

    def angles(self, positions, pairs, theta):
        occurring, row = positions.unique(return_inverse=True)
        self.table = super().angles(occurring, pairs, theta)
        return row

    def turned(self, a, b, angle):
        cos, sin = self.table.cos()[angle], self.table.sin()[angle]
        return a * cos - b * sin, b * cos + a * sin


class Einsum(Float32Angles):
    """Angles by einsum, and each pair's two-by-two matrix by another."""

    def angles(self, positions, pairs, theta):
        inverse = super().angles(torch.ones(1), pairs, theta)[0]
        return torch.einsum("...i,j->...ij", positions.to(self.wide), inverse)

    def turned(self, a, b, angle):
        cos, sin = angle.cos(), angle.sin()
        matrix = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
        return torch.einsum("...ij,...j->...i", matrix, torch.stack([a, b], -1)).unbind(-1)


class DenseMatrix(Rotation):
    """The block-diagonal matrix of the hand-out's eq. (9), all its zeros included, times each token."""

    @widely
    def rope(self, x, positions, *, theta=10000.0, layout="interleaved"):
        d = x.shape[-1]
        first = torch.arange(0, d, 2) if layout == "interleaved" else torch.arange(d // 2)
        second = first + (1 if layout == "interleaved" else d // 2)
        angle = self.angles(positions, d // 2, theta)
        matrix = x.new_zeros(*angle.shape[:-1], d, d)
        matrix[..., first, first] = matrix[..., second, second] = angle.cos().to(x.dtype)
        sin = angle.sin().to(x.dtype)
        matrix[..., first, second], matrix[..., second, first] = -sin, sin
        return (matrix @ x[..., None]).squeeze(-1)


class SumOfAngles(Rotation):
    """The angle of a position from those of its thousands and of what is left, by the addition theorems, in float64."""

    def turned(self, a, b, angle):
        raise AssertionError

    @widely
    def rope(self, x, positions, *, theta=10000.0, layout="interleaved"):
        a, b = (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else x.chunk(2, dim=-1)
        rest = positions.fmod(1000)  # of its sign: neither angle is larger than the whole
        coarse, fine = (self.angles(p, a.shape[-1], theta) for p in (positions - rest, rest))
        cos = coarse.cos() * fine.cos() - coarse.sin() * fine.sin()
        sin = coarse.sin() * fine.cos() + coarse.cos() * fine.sin()
        y = (a * cos - b * sin).to(x.dtype), (a * sin + b * cos).to(x.dtype)
        return torch.stack(y, dim=-1).flatten(-2) if layout == "interleaved" else torch.cat(y, dim=-1)


class CastTables(Float32Angles):
    """Cosines and sines stored in the dtype of x, and the rotation in it too, as Hugging Face's Llama does (class eager)."""

    def enter(self, x):
        return x

    def turned(self, a, b, angle):
        assert a.dtype in HALF or a.dtype == angle.dtype
        return super().turned(a, b, angle)


class Sections(Float32Angles):
    """Tables of cosines and sines of each axis, cut and joined as Qwen2-VL does, or filled by strides as Qwen3-VL does."""

    @widely
    def rope(self, x, positions, *, theta=10000.0, layout="interleaved", sections=None, section_layout="chunked"):
        a, b = (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else x.chunk(2, dim=-1)
        self.wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        angle = self.angles(positions, a.shape[-1], theta)
        if sections is not None and section_layout == "chunked":
            angle = torch.cat([part[i] for i, part in enumerate(angle.split(sections, dim=-1))], dim=-1)
        elif sections is not None:
            angle, others = angle[0].clone(), angle
            for axis in (1, 2):
                angle[..., axis : 3 * sections[axis] : 3] = others[axis, ..., axis : 3 * sections[axis] : 3]
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        y = a * cos - b * sin, a * sin + b * cos
        return torch.stack(y, dim=-1).flatten(-2) if layout == "interleaved" else torch.cat(y, dim=-1)
