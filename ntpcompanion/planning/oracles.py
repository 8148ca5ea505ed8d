"""Predictors of path-star answers that are written by hand: the cheat, a planner, and one that
looks back a few edges only.

Each takes questions and the part of the answer that was fed in, (n, l − 1) tokens of which position
i sees the first i, and gives log probabilities (n, l, V) of the token at each position.
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from ntpcompanion.checks import Count, Is, Range, checked
from ntpcompanion.planning.path_star_task import PathStar
from ntpcompanion.planning.question_layout import read_graphs
from ntpcompanion.validation import as_integer_array

Predictor = Annotated[
    Callable[
        [Int[np.ndarray, "n prefix"], Int[np.ndarray, "n fed"]], Float[np.ndarray, "n l vocabulary"]
    ],
    Is(lambda predict: not hasattr(predict, "parameters"), "be a function, not a network"),
]


@checked
def follow_edges(
    task: PathStar,
    prefix: Int[np.ndarray, "n {task.prefix_length}"],
    fed: Int[np.ndarray, "n {task.length-1}"],
) -> Float[np.ndarray, "n l vocabulary"]:
    """The Clever Hans cheat: each node is looked up from the one before, and the first step is a
    guess.

    Its loss under teacher forcing is ln(d)/l a token, all of it at the first node after the root.
    On answers that are written backwards each node is the parent of the one before: the same rule
    is always right.

    Parameters
    ----------
    task
        topology and format.
    prefix
        the questions.
    fed
        (n, l − 1) the answer's tokens but the last, or those of another path.

    Returns
    -------
    (n, l, V) array
        log probabilities; −inf for what the rule excludes. Where a fed token has no child (when
        answers are written backwards: no parent) all labels are as likely.

    Raises
    ------
    ValueError
        as `read_graphs`; `fed` of another shape.

    Notes
    -----
    Cost O(n l V).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.planning import PathStar, draw_graphs, follow_edges
    >>> task = PathStar(arms=2, length=4, labels=8)
    >>> graphs = draw_graphs(task, 5, np.random.default_rng(0))
    >>> found = follow_edges(task, graphs.prefix, graphs.answer[:, :-1])
    >>> right = np.take_along_axis(found, graphs.answer[:, :, None], 2)[:, :, 0]
    >>> np.allclose(-right.mean(), np.log(2) / 4)
    True
    """
    graph = read_graphs(task, prefix)
    fed = _as_fed(task, fed, len(graph.root))
    if task.reversed:
        return _certain(task, graph.goal, _look_up(graph.parent, fed))
    log_probabilities = _certain(task, graph.root, _look_up(graph.child, fed))
    log_probabilities[:, 1] = _among(task, graph.first_nodes)
    return log_probabilities


def plan_path(
    task: PathStar, prefix: Int[np.ndarray, "n prefix"], fed: Int[np.ndarray, "n fed"]
) -> Float[np.ndarray, "n l vocabulary"]:
    """The planner: walk back from the goal to the root, and tell the path.

    The answer is a function of the question, so that the least possible loss is 0, and the
    probability 1/d that the cheat reaches is not a limit of information.

    Parameters
    ----------
    task
        topology and format.
    prefix
        the questions.
    fed
        (n, l − 1), not used: the planner needs no part of the answer.

    Returns
    -------
    (n, l, V) array
        log probabilities, 0 for the tokens of the path and −inf for all others.

    Raises
    ------
    ValueError
        as `read_graphs`.

    Notes
    -----
    Cost O(n l V).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.planning import PathStar, draw_graphs, plan_path
    >>> task = PathStar(arms=5, length=5, labels=30)
    >>> graphs = draw_graphs(task, 3, np.random.default_rng(0))
    >>> found = plan_path(task, graphs.prefix, graphs.answer[:, :-1]).argmax(2)
    >>> (found == graphs.answer).all()
    np.True_
    """
    graph = read_graphs(task, prefix)
    nodes, rows = [graph.goal], np.arange(len(graph.root))
    for _ in range(task.length - 1):
        nodes.append(graph.parent[rows, nodes[-1]])
    path = np.stack(nodes if task.reversed else nodes[::-1], 1)
    return _points(task, path)


@checked
def look_back(
    task: PathStar, prefix: Int[np.ndarray, "n prefix"], hops: Count
) -> Float[np.ndarray, "n vocabulary"]:
    """The first node after the root, for one who may look up the parent of a node `hops` times.

    From the goal, l − 2 look-ups lead to that node; with fewer, it is not distinguished from the
    other children of the root, and the best one can do is to guess.

    Parameters
    ----------
    task
        topology and format.
    prefix
        the questions.
    hops
        k, at least 0.

    Returns
    -------
    (n, V) array
        log probabilities of that node.

    Raises
    ------
    ValueError
        as `read_graphs`; a negative number of hops.

    Notes
    -----
    Cost O(n (k + V)).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.planning import PathStar, draw_graphs, look_back
    >>> task = PathStar(arms=2, length=5, labels=10)
    >>> graphs = draw_graphs(task, 1, np.random.default_rng(0))
    >>> [int((look_back(task, graphs.prefix, k) > -np.inf).sum()) for k in range(5)]
    [2, 2, 2, 1, 1]
    """
    graph = read_graphs(task, prefix)
    rows, reached = np.arange(len(graph.root)), graph.goal
    for _ in range(min(hops, task.length - 2)):
        reached = graph.parent[rows, reached]
    known = graph.parent[rows, reached] == graph.root
    guess = _among(task, graph.first_nodes)
    return np.where(known[:, None], _points(task, reached), guess)


@checked
def cheat_loss(arms: Annotated[int, Range(2)], length: Annotated[int, Range(2)]) -> float:
    """The loss of the cheat under teacher forcing, ln(d)/l nats a token.

    Parameters
    ----------
    arms, length
        d and l.

    Returns
    -------
    float
        nats, a mean over the l tokens of the answer.

    Raises
    ------
    ValueError
        fewer than two arms or two nodes.

    Examples
    --------
    >>> from ntpcompanion.planning import cheat_loss
    >>> round(cheat_loss(arms=2, length=5), 5), round(cheat_loss(arms=10, length=5), 5)
    (0.13863, 0.46052)
    """
    return float(np.log(arms) / length)


def _as_fed(task: PathStar, fed: object, count: int) -> np.ndarray:
    tokens = as_integer_array("fed", fed)
    return tokens


def _look_up(table: np.ndarray, fed: np.ndarray) -> np.ndarray:
    """The neighbour of each fed token, −1 where there is none."""
    known = np.clip(fed, 0, table.shape[1] - 1)
    neighbours = np.take_along_axis(table, known, 1)
    return np.where(known == fed, neighbours, -1)


def _certain(task: PathStar, first: np.ndarray, later: np.ndarray) -> np.ndarray:
    return _points(task, np.concatenate([first[:, None], later], 1))


def _points(task: PathStar, tokens: np.ndarray) -> np.ndarray:
    """All mass on one token, or on all labels where it is −1."""
    log_probabilities = np.where(np.arange(task.vocabulary) == tokens[..., None], 0.0, -np.inf)
    labels = np.where(np.arange(task.vocabulary) < task.labels, -np.log(task.labels), -np.inf)
    return np.where(tokens[..., None] < 0, labels, log_probabilities)


def _among(task: PathStar, tokens: np.ndarray) -> np.ndarray:
    """The same mass on each of the tokens of a row."""
    log_probabilities = np.full((len(tokens), task.vocabulary), -np.inf)
    np.put_along_axis(log_probabilities, tokens, -np.log(tokens.shape[1]), 1)
    return log_probabilities
