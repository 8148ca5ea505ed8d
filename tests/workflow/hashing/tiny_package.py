"""A tiny package with an experiment, and edits of its files."""

import textwrap

EXPERIMENT = '''
"""An experiment."""
import numpy as np
from pkg.parts import half, shifted
from pkg import scales

class Plan:
    """What is asked."""
    n: int = 1

class Result:
    value: float

def run(plan):
    """The answer."""
    return half(plan.n) + shifted(plan.n) + scales.SCALE
'''
PARTS = '''
from pkg.tools import helper
from pkg.others import helper as other

OFFSET = 3

def half(x: float) -> float:
    """Half of x."""
    return helper(x) / 2  # a comment

def shifted(x, by=OFFSET):
    return other(x) + by
'''
FILES = {
    "__init__.py": "",
    "experiment.py": EXPERIMENT,
    "parts.py": PARTS,
    "tools.py": "def helper(x):\n    return x * 2\n",
    "others.py": "def helper(x):\n    return x * 3\n",
    "scales.py": "SCALE = 5\nUNUSED = 6\n",
}


def files(**changes):
    """Files by name without what no keyword can have."""
    return {f"{name.replace('__', '/', 1)}.py": text for name, text in changes.items()}


USES = "from pkg.user import half, shifted"


def user(text, **more):
    """Files in which the experiment uses `half` of a module `user`."""
    return files(
        experiment=EXPERIMENT.replace("from pkg.parts import half, shifted", USES),
        user=textwrap.dedent(text) + "\n" + "def shifted(x):\n    return x\n",
        **more,
    )
