"""A changed equation that holds in one mode alone: where an option is given, or has one value. Elsewhere the right one holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...calls.call import Call
from ...specification.registry import specification


@dataclass(frozen=True)
class Mode:
    """A condition on one option."""

    option: str
    value: bool | str | None  # None where the option is not given
    is_given: bool = False  # whether any value but None will do

    def holds(self, value: Any) -> bool:
        if self.is_given:
            return value is not None
        return value is None if self.value is None else isinstance(value, bool | str) and value == self.value

    def holds_for(self, call: Call) -> bool:
        return self.holds(call.named.get(self.option, call.operation.spec.parameters[self.option].default))

    @property
    def words(self) -> str:
        if self.is_given or self.value is None:
            return f"where {self.option} is {'' if self.is_given else 'not '}given"
        return f"where {self.option} = {self.value!r}"

    def read(self, operation: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> bool:
        """Whether the condition holds of the arguments of an operation's equation."""
        parameters = specification(operation).parameters
        named = {**dict(zip(parameters, arguments, strict=False)), **keywords}
        return self.holds(named.get(self.option, parameters[self.option].default))


def find_mode(wrong: Iterable[Call], right: Iterable[Call]) -> Mode | None:
    """Return a mode in which all calls that are answered wrongly are, and none of the others; None if there is none."""
    wrong, right = list(wrong), list(right)
    modes = (mode for mode in _list_modes(wrong[0]) if all(map(mode.holds_for, wrong)))
    return next((mode for mode in modes if not any(map(mode.holds_for, right))), None)


def _list_modes(call: Call) -> Iterator[Mode]:
    """Yield the modes of a call."""
    for name, parameter in call.operation.spec.parameters.items():
        value = call.named.get(name, parameter.default)
        if parameter.default is None:
            yield Mode(name, None, is_given=value is not None)
        if isinstance(value, bool | str):
            yield Mode(name, value)
