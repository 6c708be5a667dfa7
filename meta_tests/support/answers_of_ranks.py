"""Calls that every rank has answered with what an equation gives, and what is found to be wrong with the ranks."""

from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.calls.ranks import represent
from spec_tests.diagnosis.evidence import Evidence, has_wrong_elements, is_wrong
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.ranks import search
from spec_tests.diagnosis.ranks.layout import Layout
from spec_tests.diagnosis.ranks.mesh_layout import MeshLayout
from spec_tests.specification.work import Meter, unlimited


def answer(calls: list[Call], equation: Any, count: int) -> list[Call]:
    """Return the calls with what the equation gives as the answers of so many ranks, as far as it takes them."""
    found = []
    for call in calls:
        ranks = [call.at_rank(rank) for rank in range(count)]
        try:
            for each in ranks:
                with np.errstate(all="ignore"):
                    each.observed = each.storage.round(np.asarray(each.evaluate(np.asarray, equation)))
        except (ValueError, NotImplementedError):
            continue
        ranks[0].by_rank = ranks
        for each in ranks[1:]:
            each.of_rank_zero = ranks[0]
        found.append(represent(ranks[0], has_wrong_elements))
    return found


def find(layout: Layout | MeshLayout, calls: list[Call], monkeypatch: pytest.MonkeyPatch) -> Explanation | None:
    """Return the fault of ranks in this layout that explains the calls, None if there is none. Some answer has to be wrong."""
    monkeypatch.setattr(search, "list_layouts", lambda calls: [layout])
    evidence = Evidence([call for call in calls if is_wrong(call)], [call for call in calls if not is_wrong(call)])
    assert evidence.wrong
    return search.find_fault_of_ranks(evidence, lambda *wish: (), unlimited(Meter()))
