"""Which rules of the search for the nearest equation are withheld when machine-made mutants are measured.

A search that has the rules by which the mutants were made would only measure itself. The kinds of mutation in
`benchmarks/mutation.py` are listed here with the rule of the search that makes the same change. In alphabetical order of the
rules, every second one is withheld. The split was fixed before anything was measured, and no result may change it.
"""

from __future__ import annotations

RULE_OF = {  # kind of mutation: rule of spec_tests/diagnosis/equations/neighbours/rules
    "comparison": "another_comparison",
    "constant": "another_constant",
    "function": "another_function",
    "operator": "another_operator",
    "slice": "another_slice",
    "argument left out": "argument_left_out",
    "assignment": "assignment_left_out",
    "call": "call_dropped",
    "junction": "condition_dropped",
    "condition": "condition_fixed",
    "operand": "operand_dropped",
    "order": "operands_exchanged",
    "sign": "sign_dropped",
    "exchange": "two_exchanged",
}
WITHHELD = frozenset(sorted(set(RULE_OF.values()))[1::2])
