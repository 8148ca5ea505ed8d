import numpy as np
import pytest

from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.languages.text.frequent_contexts import frequent_contexts


@pytest.fixture
def counts():
    return count_contexts(np.array([0, 1, 0, 1, 0, 2, 0, 1]), 3, [1])[0]


def test_the_most_frequent_context_comes_first_with_its_likeliest_successors(counts):
    rows = frequent_contexts(counts, ["a", "b", "c"], rows=2)
    assert rows[0] == {
        "context": "a",
        "times seen": 4,
        "successors": 2,
        "likeliest": "b 0.75, c 0.25",
    }
    assert rows[1] == {"context": "b", "times seen": 2, "successors": 1, "likeliest": "a 1.00"}


def test_fewer_successors_on_request(counts):
    assert (
        frequent_contexts(counts, ["a", "b", "c"], rows=1, successors=1)[0]["likeliest"] == "b 0.75"
    )
