from dataclasses import replace

import numpy as np
import pytest

from ntpcompanion.planning import PathStar, draw_graphs, read_graphs

TASK = PathStar(3, 4, 12)


@pytest.mark.parametrize("separators", [False, True])
@pytest.mark.parametrize("query", ["first", "last"])
def test_reading_gives_what_was_written(query, separators, rng):
    task = replace(TASK, query=query, separators=separators)
    graphs = draw_graphs(task, 40, rng)
    read = read_graphs(task, graphs.prefix)
    np.testing.assert_array_equal(read.edges, graphs.edges)
    np.testing.assert_array_equal(read.root, graphs.root)
    np.testing.assert_array_equal(read.goal, graphs.branches[:, 0, -1])


def test_parents_and_children_are_those_of_the_edges(rng):
    graphs = draw_graphs(TASK, 30, rng)
    read = read_graphs(TASK, graphs.prefix)
    for row, edges in enumerate(graphs.edges.tolist()):
        parents = {child: parent for parent, child in edges}
        children = dict(edges)
        assert read.parent[row].tolist() == [parents.get(v, -1) for v in range(12)]
        root = int(read.root[row])
        own = read.child[row].tolist()
        assert [own[v] for v in range(12) if v != root] == [
            children.get(v, -1) for v in range(12) if v != root
        ]
        assert read.first_nodes[row].tolist() == [b for a, b in edges if a == root]


def spoilt(column, token):
    prefix = draw_graphs(TASK, 3, np.random.default_rng(0)).prefix
    prefix[1, column] = token
    return prefix


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        (lambda: spoilt(-1, 3), "not a question of PathStar"),
        (lambda: spoilt(0, -1), "not a question"),
        (lambda: spoilt(0, 12), "not a question"),
    ],
)
def test_what_is_no_question_is_refused(prefix, words):
    with pytest.raises(ValueError, match=rf"`prefix`.*{words}"):
        read_graphs(TASK, prefix())


def test_a_root_with_too_few_children_is_refused(rng):
    prefix = draw_graphs(TASK, 1, rng).prefix
    other = prefix[0, -2]
    prefix[0, -3] = other  # the goal stands for the root: it has no child
    with pytest.raises(ValueError, match=r"`prefix`.*3 children"):
        _ = read_graphs(TASK, prefix).first_nodes
