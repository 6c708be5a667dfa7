"""Tests of another project, as the guide of that version has them."""

import sys

import mine

import spec_tests


@spec_tests.parametrize(mine, ["relu.reference", "softmax.order"], effort="smoke")
def test_conforms(check):
    check()


def test_the_function_returns_the_verdicts():
    verdicts = spec_tests.check(sys.modules["mine"], "relu.reference", effort="smoke")
    assert [verdict["id"] for verdict in verdicts] == ["relu.reference"] * 2
    assert {verdict["status"] for verdict in verdicts} == {"passed"}
    assert {verdict["class"] for verdict in verdicts} == {"fused"}
