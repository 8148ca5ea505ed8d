"""Which Python a cell stands for, as IPython reads it."""

import pytest

from ntpcompanion.workflow.hashing.imported_files import names_used
from ntpcompanion.workflow.notebooks.cells import used_python


@pytest.mark.parametrize(
    "source",
    [
        "rest = (17\n        % 5)",
        'print("%d"\n      % (total,))',
        "rest = 17 \\\n    % 5",
        'text = """\n%html\n!ls\n"""',
        "ok = (a\n!= b)",
        "",
    ],
)
def test_a_line_that_continues_python_is_python(source):
    assert used_python(source) == source


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("%matplotlib inline\nimport house", {"house.*"}),
        ("if True:\n    %time 1\n    import house", {"house.*"}),
        ("import house\nfiles = !ls {house.room}", {"house"}),
        ("import house\nhouse.room?", {"house"}),
        ("import house\n?house.room", {"house"}),
        ("%%time\nimport house\nhouse.room()", {"house", "house.room"}),
        ("%%time\n%config x\nimport house", {"house.*"}),
        ("%%timeit -n 3 import house\nhouse.room()", {"house", "house.room"}),
        ("import house\n%timeit -n 10 -r 2 house.room(2)", {"house", "house.room"}),
        ("import house\nx = %time house.room(2)", {"house", "house.room"}),
        (">>> import house", {"house.*"}),
        ("    import house\n    !ls", {"house.*"}),
        ("%%html\n<p>import house</p>", set()),
        ("%%time\n%%html\n<p>", set()),
        ("!ls \\\n  -l", set()),
    ],
)
def test_magics_anywhere_are_read_as_ipython_does(source, names):
    used = names_used(used_python(source))
    assert {name for name in used if name.split(".")[0] == "house"} >= names
    assert bool(used) == bool(names)


@pytest.mark.parametrize("source", ["def f(:", "x = (1\n%magic", "x = 'a"])
def test_what_is_neither_python_nor_a_magic_is_an_error(source):
    with pytest.raises(SyntaxError):
        used_python(source)
