"""What becomes of a call of the search for a cause that is lost: a fact of the cause. The failure that was seen stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..calls.call import Call
from ..calls.history import describe_shapes, list_lost
from ..calls.violation import Lost
from ..implementation.backend import Backend

if TYPE_CHECKING:
    from .cause import Cause


def note_lost_calls(cause: Cause, backend: Backend, before: dict[Call, Lost]) -> None:
    """Note in a cause which call of the search for it was lost after these. A lost call that is the failure itself is none."""
    new = [(call, loss) for call, loss in list_lost(backend).items() if call not in before]
    if not new or isinstance(cause.example.violation, Lost):
        return
    call, loss = new[-1]
    effect = "cost the device, so that nothing else can be asked" if backend.framework.device_lost else "had no answer"
    asked = f"a further call of the search for the cause, with {describe_shapes(call)},"
    cause.lost_call = f"{asked} {effect}: {loss.what.partition(chr(10))[0]}"
