"""A look may come while the suite itself has put another part into an equation. It is no replacement, and it stays in place."""

import textwrap
from pathlib import Path

import pytest

from spec_tests.specification.changed_names import change_names, originals_in_place

from ..support.pytest_process import python


@pytest.mark.parametrize("where", ["change_part", "substitute"])
def test_a_change_of_the_suite_is_no_replacement(tmp_path: Path, where: str) -> None:
    script = """
        import sys

        from spec_tests.specification.first_use import import_modules
        from spec_tests.tampering.detector import PatchDetector

        detector = PatchDetector(guards_imports=True)
        import_modules("reference_numpy.scaled_dot_product_attention", "spec_tests.operations.scaled_dot_product_attention")
        import_modules("reference_numpy.softmax", "spec_tests.operations.softmax")
        from spec_tests.specification.composition import substitute
        from spec_tests.specification.conventions._in_parts import change_part

        attention = sys.modules["reference_numpy.scaled_dot_product_attention"]
        softmax, other = attention.softmax, lambda *arrays, **options: None

        def look():
            import_modules("spec_tests.trials.cause_search")
            assert attention.softmax is other

        if "WHERE" == "substitute":
            with substitute("softmax", other):
                look()
        else:
            change_part("scaled_dot_product_attention", "softmax", lambda part: other)(look)()
        assert attention.softmax is softmax
        print(detector.restore())
        attention.softmax = other
        print(detector.restore())
    """
    run = python(tmp_path, "-c", textwrap.dedent(script.replace("WHERE", where)))
    assert run.stdout.splitlines() == ["[]", "['reference_numpy.scaled_dot_product_attention.softmax']"], run.stderr


def test_changes_within_changes_are_put_back_and_made_again() -> None:
    one, two = {"f": 1}, {"f": 1, "g": 5}
    with change_names([one, two], "f", 2), change_names([two], "f", 3), change_names([two], "g", 6):
        assert (one, two) == ({"f": 2}, {"f": 3, "g": 6})
        with originals_in_place():
            assert (one, two) == ({"f": 1}, {"f": 1, "g": 5})
        assert (one, two) == ({"f": 2}, {"f": 3, "g": 6})
    assert (one, two) == ({"f": 1}, {"f": 1, "g": 5})


def test_an_error_leaves_no_change() -> None:
    names = {"f": 1}

    def fail() -> None:
        with change_names([names], "f", 2), originals_in_place():
            raise ValueError(names["f"])

    with pytest.raises(ValueError, match="1"):
        fail()
    assert names == {"f": 1}
