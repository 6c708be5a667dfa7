"""Test that the page that is shown is marked in a folder's navigation, which is made once."""

from ..support.sphinx_extensions import import_extension

NAVIGATION = """<ul>
<li class="toctree-l1"><a class="reference internal" href="../about.html">About</a></li>
</ul>
<ul>
<li class="toctree-l1"><a class="reference internal" href="index.html">Operations</a><ul>
<li class="toctree-l2"><a class="reference internal" href="rope.html">rope</a></li>
<li class="toctree-l2"><a class="reference internal" href="silu.html">silu</a></li>
</ul>
</li>
</ul>
"""


def test_a_page_and_what_it_is_below_are_marked() -> None:
    marked = import_extension("navigation").mark_page(NAVIGATION, "silu.html").splitlines()
    changed = {line: other for line, other in zip(NAVIGATION.splitlines(), marked, strict=True) if line != other}
    assert list(changed.values()) == [
        '<ul class="current">',
        '<li class="toctree-l1 current"><a class="reference internal" href="index.html">Operations</a><ul class="current">',
        '<li class="toctree-l2 current"><a class="current reference internal" href="#">silu</a></li>',
    ]
    assert marked[:3] == NAVIGATION.splitlines()[:3]


def test_a_page_that_is_not_in_the_navigation_leaves_it_as_it_is() -> None:
    assert import_extension("navigation").mark_page(NAVIGATION, "search.html") == NAVIGATION
