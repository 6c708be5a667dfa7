"""What a module leaves open is seen from a call, and what its parameters hold at the start decides nothing."""

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from spec_tests.importers._feed_forward_modules import bind_feed_forward, bind_swiglu  # noqa: E402
from spec_tests.importers._imported import NotTaken, say  # noqa: E402
from spec_tests.importers._rotary_modules import bind_rope  # noqa: E402
from spec_tests.importers._simple_modules import (  # noqa: E402
    bind_embedding,
    bind_gate,
    bind_layer_norm,
    bind_pointwise,
    bind_rms_norm,
)


def norm_class(body: Any, **parameters: Any) -> Any:
    """Return a class of a norm of width d whose parameters begin with these values."""

    class Norm(torch.nn.Module):
        def __init__(self, d: int) -> None:
            super().__init__()
            for name, start in parameters.items():
                setattr(self, name, torch.nn.Parameter(torch.full((d,), float(start))))

        def forward(self, x: Any) -> Any:
            return body(self, x)

    return Norm


def rms(x: Any, eps: float) -> Any:
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def centred(x: Any, eps: float) -> Any:
    return rms(x - x.mean(-1, keepdim=True), eps)


@pytest.mark.parametrize("eps", [1e-5, 1e-6, 1e-8, 1e-12, 3.5e-4, 0.0])
@pytest.mark.parametrize("in_float32", [False, True])
def test_an_epsilon_that_the_constructor_does_not_take(eps: float, in_float32: bool) -> None:
    def body(module: Any, x: Any) -> Any:
        return rms(x.float() if in_float32 else x, eps) * module.g

    _, words, domain = bind_rms_norm(norm_class(body, g=1.0))
    assert domain == {"eps": (pytest.approx(eps, rel=1e-9, abs=1e-15),)}
    assert f"eps = {eps:g} as a call shows" in words


@pytest.mark.parametrize("eps", [1e-5, 1e-6, 1e-12, 3.5e-4])
def test_an_epsilon_that_is_added_to_the_root_is_the_one_that_is_written(eps: float) -> None:
    """Read as one under the root it would be its square, and the verdict would say that the epsilon is ignored."""

    def body(module: Any, x: Any) -> Any:
        return x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * module.g

    _, _, domain = bind_rms_norm(norm_class(body, g=1.0))
    assert domain == {"eps": (pytest.approx(eps, rel=1e-2),)}


@pytest.mark.parametrize("start", [0.0, 1.0, -2.5, math.nan])
def test_what_a_gain_holds_at_the_start_decides_nothing(start: float) -> None:
    _, words, _ = bind_rms_norm(norm_class(lambda module, x: rms(x, 1e-5) * module.g, g=start))
    assert "whose g is the weight" in words


@pytest.mark.parametrize("starts", [{"b": 0.0, "g": 1.0}, {"b": 1.0, "g": 0.0}, {"g": 0.0, "b": 0.0}])
def test_the_gain_is_what_multiplies_the_row(starts: dict[str, float]) -> None:
    _, words, _ = bind_layer_norm(norm_class(lambda module, x: centred(x, 1e-5) * module.g + module.b, **starts))
    assert "whose g is the weight and whose b is the bias" in words


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_a_gain_that_is_added_to_one_is_a_convention(start: float) -> None:
    function, words, domain = bind_rms_norm(norm_class(lambda module, x: rms(x, 1e-5) * (1 + module.g), g=start))
    assert "whose g plus 1, as a call shows, is the weight" in words
    assert (function.conventions, domain) == ({"gain": "one plus weight"}, {"eps": (pytest.approx(1e-5),)})


def test_a_wrong_norm_is_taken_and_judged() -> None:
    """The name decides which operation it is: calls choose only between forms of it."""
    _, words, domain = bind_rms_norm(norm_class(lambda module, x: rms(x, 1e-5), g=1.0))
    assert ("whose g is the weight" in words, domain) == (True, {"eps": (1e-5,)})
    _, _, domain = bind_rms_norm(norm_class(lambda module, x: x * math.nan * module.g, g=1.0))
    assert domain == {"eps": (1e-5,)}


FORMS = {
    "erf": (lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2, "none"),
    "tanh": (lambda x: x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)), "tanh"),
    "negated": (lambda x: -torch.nn.functional.gelu(x), "none"),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_of_gelu_is_the_nearer_one(name: str) -> None:
    body, form = FORMS[name]

    class GELU(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return body(x)

    function, words, domain = bind_pointwise("gelu")(GELU)
    assert domain == {"approximate": (form,)}
    assert words == f"the class GELU(), approximate {form}"
    assert function(torch.tensor([0.0]), approximate=form).item() == 0.0


@pytest.mark.parametrize("name", ["scale", "self", "gain", "weight"])
def test_a_gain_of_any_name_is_found(name: str) -> None:
    _, words, _ = bind_rms_norm(norm_class(lambda module, x: rms(x, 1e-5) * getattr(module, name), **{name: 1.0}))
    assert (f"whose {name} is the weight" in words) == (name != "weight")


def network_class(name: str, activation: Any, *, gated: bool) -> Any:
    """Return a class of a feed-forward network with this activation."""

    def make(self: Any, d_model: int, d_ff: int) -> None:
        torch.nn.Module.__init__(self)
        self.w1, self.w2 = torch.nn.Linear(d_model, d_ff, bias=False), torch.nn.Linear(d_ff, d_model, bias=False)
        self.w3 = torch.nn.Linear(d_model, d_ff, bias=False) if gated else None

    def forward(self: Any, x: Any) -> Any:
        return self.w2(activation(self.w1(x)) * (self.w3(x) if gated else 1))

    return type(name, (torch.nn.Module,), {"__init__": make, "forward": forward})


def tanh_form(x: Any) -> Any:
    return torch.nn.functional.gelu(x, approximate="tanh")


@pytest.mark.parametrize("activation", [torch.relu, torch.nn.functional.gelu])
def test_the_activation_of_a_network_is_the_nearer_one(activation: Any) -> None:
    _, words, domain = bind_feed_forward(network_class("MLP", activation, gated=False))
    assert domain == {"activation": (activation.__name__,)}
    assert words == f"the class MLP(d_model, d_ff): w1.weight is w1, w2.weight is w2, {activation.__name__} as a call shows"


def test_a_network_of_another_activation_is_declined_and_one_named_swiglu_is_judged() -> None:
    with pytest.raises(
        NotTaken, match="its activation is the tanh form of gelu, as a call shows; feed_forward has relu and gelu"
    ):
        bind_feed_forward(network_class("MLP", tanh_form, gated=False))
    with pytest.raises(NotTaken, match="its gate is gelu, as a call shows; swiglu has silu"):
        bind_swiglu(network_class("FeedForward", torch.nn.functional.gelu, gated=True))
    for name, activation in (("FeedForward", torch.nn.functional.silu), ("SwiGLU", torch.nn.functional.gelu)):
        _, words, _ = bind_swiglu(network_class(name, activation, gated=True))
        assert words == f"the class {name}(d_model, d_ff): w1.weight is the gate w1, w3.weight is w3, w2.weight is w2"


def feed_forward_class(hidden: Any, result: Any) -> Any:
    """Return a class of three matrices that chooses its number of features, and what it returns of its input and its result."""

    class FeedForward(torch.nn.Module):
        def __init__(self, dim: int, hidden_dim: int) -> None:
            super().__init__()
            hidden_dim = hidden(hidden_dim)
            self.w1, self.w3 = (torch.nn.Linear(dim, hidden_dim, bias=False) for _ in range(2))
            self.w2 = torch.nn.Linear(hidden_dim, dim, bias=False)
            self.hidden_dim = hidden_dim

        def forward(self, x: Any) -> Any:
            return result(x, self.w2(torch.nn.functional.silu(self.w1(x)) * self.w3(x)), self)

    return FeedForward


def test_a_module_may_choose_its_number_of_features() -> None:
    function, words, domain = bind_swiglu(feed_forward_class(lambda hidden: 16 * -(-hidden // 16), lambda x, y, module: y))
    assert (words, domain) == (
        "the class FeedForward(dim, hidden_dim): w1.weight is the gate w1, w3.weight is w3, w2.weight is w2", {}
    )  # fmt: skip
    x, w1, w3, w2 = (torch.randn(shape, dtype=torch.float32) for shape in ((2, 4), (3, 4), (3, 4), (4, 3)))
    expected = (torch.nn.functional.silu(x @ w1.T) * (x @ w3.T)) @ w2.T
    assert torch.equal(function(x, w1, w2, w3), expected)


def test_a_module_that_needs_its_own_number_of_features_is_not_taken() -> None:
    needs_it = feed_forward_class(lambda hidden: 16, lambda x, y, module: y + module.w1(x).reshape(-1, 16).sum())
    with pytest.raises(NotTaken, match=r"with 9 features in place of its own, w1.weight \(16, 4\)"):
        bind_swiglu(needs_it)


@pytest.mark.parametrize("name", ["FeedForward", "SwiGLU"])
def test_a_module_that_adds_its_input_is_not_taken(name: str) -> None:
    adds = feed_forward_class(lambda hidden: hidden, lambda x, y, module: x + y)
    adds.__name__ = name
    with pytest.raises(NotTaken, match="it adds its input to the result, as a call shows"):
        bind_swiglu(adds)

    class MLP(torch.nn.Module):
        def __init__(self, d: int, hidden: int) -> None:
            super().__init__()
            self.up, self.down = torch.nn.Linear(d, hidden), torch.nn.Linear(hidden, d)

        def forward(self, x: Any) -> Any:
            return x + self.down(torch.relu(self.up(x)))

    with pytest.raises(NotTaken, match="it adds its input to the result, as a call shows"):
        bind_feed_forward(MLP)


@pytest.mark.parametrize("gate", ["first", "second"])
@pytest.mark.parametrize("layout", ["concatenated", "interleaved"])
@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_a_call_shows_the_form_of_a_gate(activation: str, layout: str, gate: str) -> None:
    form = "tanh" if activation == "gelu_tanh" else "none"

    class GEGLU(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            halves = x.chunk(2, -1) if layout == "concatenated" else (x[..., ::2], x[..., 1::2])
            g, u = halves if gate == "first" else halves[::-1]
            return torch.nn.functional.gelu(g, approximate=form) * u

    _, _, domain = bind_gate("gelu", "gelu_tanh")(GEGLU)
    assert domain == {"activation": (activation,), "layout": (layout,), "gate": (gate,)}


def test_a_class_without_a_constructor_has_no_configuration() -> None:
    class SwiGLU(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x

    with pytest.raises(NotTaken, match="is not one of two sizes"):
        bind_swiglu(SwiGLU)


def test_a_device_that_is_missing_is_named_without_the_list_of_all_devices() -> None:
    with pytest.raises(NotImplementedError) as raised:
        torch.empty(1, device="mps")
    assert say(raised.value) == "NotImplementedError: PyTorch has no aten::empty.memory_format for the device MPS here"


def test_a_bias_may_be_a_buffer() -> None:
    class Norm(torch.nn.Module):
        def __init__(self, dim: int) -> None:
            super().__init__()
            self.gamma = torch.nn.Parameter(torch.ones(dim))
            self.register_buffer("beta", torch.zeros(dim))

        def forward(self, x: Any) -> Any:
            return torch.nn.functional.layer_norm(x, x.shape[-1:], self.gamma, self.beta)

    function, words, _ = bind_layer_norm(Norm)
    assert "whose gamma is the weight and whose beta is the bias" in words
    x, weight, bias = torch.randn(3, 5), torch.randn(5), torch.randn(5)
    expected = torch.nn.functional.layer_norm(x, (5,), weight, bias)
    torch.testing.assert_close(function(x, weight, bias, eps=1e-5), expected)


class Numbered(torch.nn.Module):
    """A gated feed-forward module whose matrices have only numbers."""

    def __init__(self, cfg: Any) -> None:
        super().__init__()
        self.fc1, self.fc2 = (
            torch.nn.Linear(cfg["emb_dim"], cfg["hidden_dim"], dtype=cfg["dtype"], bias=False) for _ in range(2)
        )
        self.fc3 = torch.nn.Linear(cfg["hidden_dim"], cfg["emb_dim"], dtype=cfg["dtype"], bias=False)

    def forward(self, x: Any) -> Any:
        return self.fc3(torch.nn.functional.silu(self.fc1(x)) * self.fc2(x))


class SecondIsTheGate(Numbered):
    def forward(self, x: Any) -> Any:
        return self.fc3(self.fc1(x) * torch.nn.functional.silu(self.fc2(x)))


class WithoutAGate(Numbered):
    def forward(self, x: Any) -> Any:
        return self.fc3(self.fc1(x) + self.fc2(x))


@pytest.mark.parametrize(("found", "gate", "other"), [(Numbered, 1, 2), (SecondIsTheGate, 2, 1)])
def test_a_call_shows_which_matrix_is_the_gate(found: Any, gate: int, other: int) -> None:
    function, words, _ = bind_swiglu(found)
    assert f"fc{gate}.weight is the gate w1, fc{other}.weight is w3, fc3.weight is w2" in words
    x, w1, w2, w3 = (torch.randn(*shape) for shape in ((2, 4), (5, 4), (4, 5), (5, 4)))
    torch.testing.assert_close(function(x, w1, w2, w3), (torch.nn.functional.silu(x @ w1.T) * (x @ w3.T)) @ w2.T)


def test_matrices_that_are_no_gate_are_not_taken() -> None:
    with pytest.raises(NotTaken, match="w1, w2, w3 would be taken"):
        bind_swiglu(WithoutAGate)


def table_class(factor: Any) -> Any:
    class Table(torch.nn.Module):
        def __init__(self, vocab_size: int, emb_size: int) -> None:
            super().__init__()
            self.embedding, self.emb_size = torch.nn.Embedding(vocab_size, emb_size), emb_size

        def forward(self, tokens: Any) -> Any:
            return factor(self.embedding(tokens), self.emb_size)

    return Table


def test_a_table_whose_rows_are_multiplied_is_no_look_up() -> None:
    with pytest.raises(NotTaken, match=r"it multiplies its rows by 1.73205, as a call shows"):
        bind_embedding(table_class(lambda rows, d: rows * math.sqrt(d)))
    assert "whose embedding.weight is the weight" in bind_embedding(table_class(lambda rows, d: rows))[1]
    assert "whose embedding.weight is the weight" in bind_embedding(table_class(lambda rows, d: rows + 1))[1]  # wrong: judged


def rope_class(theta: float, layout: str) -> Any:
    class Rotary(torch.nn.Module):
        def __init__(self, dim: int) -> None:
            super().__init__()
            self.frequencies = theta ** (-torch.arange(0, dim, 2) / dim)

        def forward(self, x: Any, positions: Any) -> Any:
            turn = torch.polar(torch.ones(()), positions[..., None] * self.frequencies)
            pairs = x.unflatten(-1, (2, -1)).mT if layout == "half" else x.unflatten(-1, (-1, 2))
            turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
            return (turned.mT if layout == "half" else turned).flatten(-2)

    return Rotary


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("theta", [100.0, 10_000.0, 500_000.0, 1_000_000.0])
def test_a_theta_that_the_constructor_does_not_take(theta: float, layout: str) -> None:
    _, words, domain = bind_rope(rope_class(theta, layout))
    assert domain == {"layout": (layout,), "theta": (theta,)}
    assert f"layout {layout}, theta {theta:g} as a call shows" in words


def test_a_second_argument_that_is_no_position_is_not_taken() -> None:
    class OfAnOffset(rope_class(100.0, "half")):  # type: ignore[misc]
        def forward(self, x: Any, offset: Any) -> Any:
            return super().forward(x, offset + torch.arange(x.shape[-2]))

    with pytest.raises(NotTaken, match=r"forward\(x, offset\) is not one of an array and positions"):
        bind_rope(OfAnOffset)


def test_a_module_of_positions_queries_and_keys_must_answer_both() -> None:
    class OfRows(rope_class(100.0, "half")):  # type: ignore[misc]
        def forward(self, positions: Any, q: Any, k: Any) -> Any:
            turned = super().forward(q, positions)
            return (turned, turned) if self.answers_both else turned

    OfRows.answers_both = True
    assert bind_rope(OfRows)[2] == {"layout": ("half",), "theta": (100.0,)}
    OfRows.answers_both = False
    with pytest.raises(NotTaken, match="it answers queries and keys with one of"):
        bind_rope(OfRows)
