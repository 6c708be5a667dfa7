"""A changed equation that holds in one mode alone: where options are given, or have one value. Elsewhere the right one holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....calls.call import Call
from ....specification.registry import specification
from ...wish import Wish

PLAIN = bool, str, int, float

Value = bool | str | int | float | None


@dataclass(frozen=True)
class Setting:
    """A condition on one option."""

    option: str
    value: Value  # None where the option is not given
    is_given: bool = False  # whether any value but None will do

    def holds(self, value: Any) -> bool:
        if self.is_given:
            return value is not None
        if self.value is None:
            return value is None
        plain = _unwrap(value)
        return isinstance(plain, PLAIN) and plain == self.value

    def holds_for(self, call: Call) -> bool:
        return self.holds(call.named.get(self.option, call.operation.spec.parameters[self.option].default))

    @property
    def words(self) -> str:
        if self.is_given or self.value is None:
            return f"{self.option} is {'' if self.is_given else 'not '}given"
        return f"{self.option} = {self.value!r}"

    def add_to(self, wish: Wish, *, default: Value, holds: bool = True) -> Wish:
        """Return the wish with the wish that the condition holds, or that it does not."""
        if self.is_given or self.value is None:
            return wish.but(given={self.option: self.is_given == holds})
        if not holds and not isinstance(self.value, bool):
            return wish.but(given={self.option: self.value == default})
        value = self.value if holds else not self.value
        return wish.but(given={self.option: value != default}, keywords={self.option: value})


@dataclass(frozen=True)
class Mode:
    """Conditions on options, all of which hold."""

    settings: tuple[Setting, ...]

    @property
    def words(self) -> str:
        absent = [s.option for s in self.settings if s.value is None and not s.is_given]
        others = [s.words for s in self.settings if s.value is not None or s.is_given]
        if len(absent) == 1:
            others.insert(0, f"{absent[0]} is not given")
        elif len(absent) == 2:
            others.insert(0, f"neither {absent[0]} nor {absent[1]} is given")
        elif absent:
            others.insert(0, f"none of {', '.join(absent[:-1])} and {absent[-1]} is given")
        return f"where {', '.join(others[:-1])}{' and ' if others[:-1] else ''}{others[-1]}"

    def holds_for(self, call: Call) -> bool:
        return all(setting.holds_for(call) for setting in self.settings)

    def wish(self, operation: str, *violated: Setting) -> Wish:
        """Return the wish for a call for which all conditions hold but those that are to be violated."""
        wish, parameters = Wish(as_drawn=True), specification(operation).parameters
        for setting in self.settings:
            wish = setting.add_to(wish, default=parameters[setting.option].default, holds=setting not in violated)
        return wish

    def violates_only(self, call: Call, setting: Setting) -> bool:
        """Whether a call violates one condition alone."""
        return all(other.holds_for(call) != (other is setting) for other in self.settings)

    def read(self, operation: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> bool:
        """Whether the conditions hold of the arguments of an operation's equation."""
        parameters = specification(operation).parameters
        named = {**dict(zip(parameters, arguments, strict=False)), **keywords}
        return all(s.holds(named.get(s.option, parameters[s.option].default)) for s in self.settings)


def _unwrap(value: Any) -> Any:
    """Return the number that a number type holds, which stands for an option's number where an error bound is derived."""
    held = getattr(value, "value", value)
    return held.item() if isinstance(held, np.ndarray | np.generic) and held.ndim == 0 else held


def find_shared(calls: Sequence[Call]) -> Mode:
    """Return the settings that all calls have."""
    return Mode(tuple(setting for setting in _list_settings(calls[0]) if all(map(setting.holds_for, calls))))


def _list_settings(call: Call) -> Iterator[Setting]:
    """Yield the settings of a call, those of numbers last. A number counts only as the default of its option."""
    numbers = []
    for name, parameter in call.operation.spec.parameters.items():
        value = call.named.get(name, parameter.default)
        if parameter.default is None:
            yield Setting(name, None, is_given=value is not None)
        if isinstance(value, bool | str):
            yield Setting(name, value)
        elif isinstance(value, int | float) and isinstance(parameter.default, int | float) and value == parameter.default:
            numbers.append(Setting(name, parameter.default))
    yield from numbers
