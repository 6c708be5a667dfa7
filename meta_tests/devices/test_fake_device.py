"""The fake device is what its tests take it for: memory apart from the host's, ordinals, streams, and errors that stay."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from ..support.fake_boards import BOARDS, find_board
from ..support.fake_device import fake

X = torch.arange(6.0).reshape(2, 3)


def on(ordinal: int) -> Any:
    return X.to(f"fake:{ordinal}")


def test_numpy_cannot_read_its_memory() -> None:
    x = on(1)
    for read in (np.asarray, np.array, np.exp, lambda x: x.numpy()):
        with pytest.raises(TypeError, match="can't convert fake:1 device type tensor to numpy"):
            read(x)
    assert np.array_equal(x.cpu().numpy(), X.numpy())


@pytest.mark.parametrize("other", ["cpu", "fake:2", "fake"])
def test_devices_do_not_mix(other: str) -> None:
    x, y = on(1), X.to(other)
    for mix in (
        torch.add,
        torch.mul,
        lambda x, y: x @ y.T,
        lambda x, y: torch.where(x > 0, x, y),
        lambda x, y: torch.cat([x, y]),
    ):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            mix(x, y)
    assert torch.equal((x + y.to("fake:1")).cpu(), 2 * X)
    assert torch.equal((x + torch.tensor(1.0)).cpu(), X + 1)  # a number on the host goes with any device


MAKERS: dict[str, Callable[..., Any]] = {
    "zeros": lambda **place: torch.zeros(3, **place),
    "arange": lambda **place: torch.arange(1, 7, 2, dtype=torch.float32, **place),
    "tensor": lambda **place: torch.tensor([1, 2], **place),
    "full": lambda **place: torch.full((2,), 3.0, **place),
    "eye": lambda **place: torch.eye(3, **place),
    "linspace": lambda **place: torch.linspace(0, 1, 5, **place),
}


@pytest.mark.parametrize("name", MAKERS)
def test_tensors_are_made_where_they_are_asked_for(name: str) -> None:
    made = MAKERS[name](device="fake:3")
    assert (str(made.device), made.get_device()) == ("fake:3", 3)
    assert torch.equal(made.cpu(), MAKERS[name]())
    assert str(MAKERS[name](device="fake").device) == "fake:0"


def test_the_current_ordinal_is_the_default() -> None:
    fake.set_device("fake:2")
    try:
        assert str(torch.zeros(1, device="fake").device) == str((on(2) + torch.ones(1, device="fake")).device) == "fake:2"
    finally:
        fake.set_device(0)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        on(len(BOARDS))


def test_views_share_memory_and_writes_reach_it() -> None:
    x = on(1)
    x[1].zero_()
    x.T[0] = 5.0
    assert torch.equal(x.cpu(), torch.tensor([[5.0, 1.0, 2.0], [5.0, 0.0, 0.0]]))
    assert x.T.stride() == X.T.stride()
    assert x[:, 1:].memory is x.memory


@pytest.mark.parametrize("ordinal", [0, 1])
def test_the_backward_pass_stays_on_the_ordinal(ordinal: int) -> None:
    def loss(x: Any) -> Any:
        return (torch.softmax(torch.where(x > 1, x, 0.5 * x), -1)[:, 1:] ** 2).sum()

    x, plain = on(ordinal).requires_grad_(), X.clone().requires_grad_()
    loss(x).backward()
    loss(plain).backward()
    assert str(x.grad.device) == f"fake:{ordinal}"
    assert torch.equal(x.grad.cpu(), plain.grad)  # type: ignore[arg-type]


def test_inference_and_autocast() -> None:
    x = on(1)
    with torch.inference_mode():
        assert torch.equal((x[0] * 2).cpu(), 2 * X[0])
    with torch.autocast("fake", dtype=torch.bfloat16):
        assert (x @ x.T).dtype == torch.bfloat16
    assert (x @ x.T).dtype == torch.float32


# --- streams ----------------------------------------------------------------------------------------------------------


def double_on_a_stream(x: Any) -> tuple[Any, Any]:
    stream = fake.Stream(x.device)
    stream.wait_stream(fake.current_stream(x.device))
    with fake.stream(stream):
        return 2 * x, stream


def test_what_nobody_waited_for_is_garbage() -> None:
    y, stream = double_on_a_stream(on(1))
    assert y.cpu().isnan().all()
    assert (y + 1).cpu().isnan().all()
    fake.current_stream(y.device).wait_stream(stream)
    assert torch.equal(y.cpu(), 2 * X)


def test_the_host_can_wait() -> None:
    for wait in (lambda y, stream: stream.synchronize(), lambda y, stream: fake.synchronize(y.device)):
        y, stream = double_on_a_stream(on(1))
        wait(y, stream)
        assert torch.equal(y.cpu(), 2 * X)


def test_a_stream_does_not_see_what_it_did_not_wait_for() -> None:
    x = 2 * on(1)
    with fake.stream(stream := fake.Stream(x.device)):
        y = x + 1
    stream.synchronize()
    assert y.cpu().isnan().all()


def test_a_copy_without_waiting_arrives_later() -> None:
    x = on(1)
    copied = x.to("cpu", non_blocking=True)
    assert copied.isnan().all()
    fake.synchronize(x.device)
    assert torch.equal(copied, X)


# --- errors -----------------------------------------------------------------------------------------------------------


def test_a_lost_context_stays_lost_and_other_ordinals_go_on() -> None:
    lost, other = on(7), on(1)
    y = fake.launch_out_of_bounds(lost)
    assert y.shape == X.shape  # the launch succeeds: the error comes with whatever waits
    for use in (y.cpu, lost.cpu, lambda: lost + 1, lambda: on(7), lambda: fake.synchronize("fake:7")):
        with pytest.raises(RuntimeError, match="illegal memory access"):
            use()
    assert torch.equal(other.cpu(), X)


def test_a_kernel_on_the_wrong_ordinal_is_an_illegal_access() -> None:
    fake.set_device(6)
    try:
        y = fake.launch(torch.relu, on(1))
        assert y.cpu().isnan().all()
        with pytest.raises(RuntimeError, match="illegal memory access"):
            fake.synchronize()
    finally:
        fake.set_device(0)


def test_memory_ends_and_is_given_back() -> None:
    board = find_board("fake:5")
    before = board.used
    kept = [torch.empty(board.capacity // 16, device="fake:5") for _ in range(3)]
    with pytest.raises(torch.OutOfMemoryError, match=f"of {board.capacity} are in use"):
        torch.empty(board.capacity // 4, device="fake:5")
    kept.clear()
    assert board.used == before


def test_copies_are_counted() -> None:
    copies = find_board("fake:5").copies
    copies.clear()
    (on(5) + 1).cpu()
    assert copies == {"to device": 1, "from device": 1}
