"""What a predictor of path-star answers gets right, token by token."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Int

from ntpcompanion.checks import Is, Range, checked
from ntpcompanion.planning.oracles import Predictor
from ntpcompanion.planning.path_star_task import Graphs
from ntpcompanion.validation import described


@dataclass(frozen=True)
class AnswerScores:
    """A predictor's answers under teacher forcing.

    Fields
    ------
    accuracy
        A_i, the fraction of graphs in which the most likely token at position i is right, for i = 0
        … l − 1 in the order in which the answer is written.
    exact
        fraction in which all of them are. It is the fraction in which greedy autoregressive
        decoding gives the answer, too: up to the first error both see the same tokens.
    cross_entropy
        CE_i in nats.
    legal
        mean probability of the root's children after the root; None where answers are written
        backwards.
    """

    accuracy: tuple[float, ...]
    exact: float
    cross_entropy: tuple[float, ...]
    legal: float | None

    @property
    def loss(self) -> float:
        """Mean of CE_i over positions, nats a token."""
        return float(np.mean(self.cross_entropy))


@checked
def score_answers(graphs: Graphs, predict: Predictor) -> AnswerScores:
    """Score a predictor that is fed the right answers.

    Parameters
    ----------
    graphs
        questions and answers.
    predict
        takes questions and the part of the answers that is fed in, gives log probabilities.

    Returns
    -------
    AnswerScores
        accuracies and losses by position.

    Raises
    ------
    ValueError
        what are not graphs or no function; what it returns is not an array of log probabilities.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from ntpcompanion.planning import PathStar, draw_graphs, plan_path, score_answers
    >>> task = PathStar(arms=2, length=4, labels=8)
    >>> graphs = draw_graphs(task, 5, np.random.default_rng(0))
    >>> score_answers(graphs, partial(plan_path, task)).accuracy
    (1.0, 1.0, 1.0, 1.0)
    """
    answer = graphs.answer
    log_probabilities = predict(graphs.prefix, answer[:, :-1])
    check_predictions(log_probabilities, graphs)
    right = log_probabilities.argmax(2) == answer
    likelihood = np.take_along_axis(log_probabilities, answer[:, :, None], 2)[:, :, 0]
    legal = None
    if not graphs.task.reversed:
        children = graphs.branches[:, :, 0]
        legal = float(
            np.exp(np.take_along_axis(log_probabilities[:, 1], children, 1)).sum(1).mean()
        )
    return AnswerScores(
        accuracy=_floats(right.mean(0)),
        exact=float(right.all(1).mean()),
        cross_entropy=_floats(-likelihood.mean(0)),
        legal=legal,
    )


@checked
def decode_answers(graphs: Graphs, predict: Predictor) -> Int[np.ndarray, "n l"]:
    """Greedy autoregressive decoding: each token is the most likely one after those decoded before.

    Parameters
    ----------
    graphs
        whose questions are answered; their answers are not used.
    predict
        as for `score_answers`.

    Returns
    -------
    (n, l) array of integers
        the answers.

    Raises
    ------
    ValueError
        as `score_answers`.

    Notes
    -----
    Calls `predict` l times.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from ntpcompanion.planning import PathStar, decode_answers, draw_graphs, plan_path
    >>> task = PathStar(arms=2, length=4, labels=8)
    >>> graphs = draw_graphs(task, 5, np.random.default_rng(0))
    >>> (decode_answers(graphs, partial(plan_path, task)) == graphs.answer).all()
    np.True_
    """
    answer = np.zeros((len(graphs), graphs.task.length), dtype=np.int64)
    for i in range(graphs.task.length):
        answer[:, i] = predict(graphs.prefix, answer[:, :-1])[:, i].argmax(1)
    return answer


@dataclass(frozen=True)
class WrongArm:
    """What a predictor does after the first node of a wrong arm.

    Fields
    ------
    agreement
        for i = 2 … l − 2: how often the most likely token is the wrong arm's node, which is the
        child of the one before. The last position is kept apart, because there the goal, which
        stands in the question, can be copied.
    leaf, goal
        at the last position: how often it is the wrong arm's leaf, and how often the goal.
    """

    agreement: tuple[float, ...]
    leaf: float
    goal: float


FromRoot = Annotated[
    Graphs,
    Is(
        lambda graphs: graphs.task.length > 3 and not graphs.task.reversed,
        "have paths of at least 4 nodes, written from the root",
    ),
]


@checked
def score_wrong_arm(
    graphs: FromRoot, predict: Predictor, arm: Annotated[int, Range(1, "graphs.task.arms - 1")] = 1
) -> WrongArm:
    """Lead a predictor into a wrong arm and see whether it follows: the test for the cheat.

    At each position the nodes of that arm up to it are fed. Decoding on from the first of them
    agrees with the arm up to some position exactly where this does.

    Parameters
    ----------
    graphs
        questions whose answers are written from root to goal.
    predict
        as for `score_answers`.
    arm
        which of the arms 1 … d − 1.

    Returns
    -------
    WrongArm
        agreement with the arm by position.

    Raises
    ------
    ValueError
        answers written backwards, fewer than 4 nodes on a path, no such arm.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from ntpcompanion.planning import PathStar, draw_graphs, follow_edges, score_wrong_arm
    >>> task = PathStar(arms=2, length=5, labels=10)
    >>> graphs = draw_graphs(task, 5, np.random.default_rng(0))
    >>> score_wrong_arm(graphs, partial(follow_edges, task))
    WrongArm(agreement=(1.0, 1.0), leaf=1.0, goal=0.0)
    """
    path = graphs.path(arm)
    predictions = predict(graphs.prefix, path[:, :-1]).argmax(2)
    same = (predictions == path).mean(0)
    goal = (predictions[:, -1] == graphs.answer[:, -1]).mean()
    return WrongArm(_floats(same[2:-1]), float(same[-1]), float(goal))


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def check_predictions(predictions: object, graphs: Graphs) -> None:
    """ValueError unless a predictor has returned an array of log probabilities (n, l, V)."""
    shape: tuple[int, ...] = getattr(predictions, "shape", ())
    wanted = len(graphs), graphs.task.length
    floats = isinstance(predictions, np.ndarray) and predictions.dtype.kind == "f"
    if not floats or shape[:2] != wanted or len(shape) != 3 or shape[2] < graphs.task.labels:
        raise ValueError(
            "`predict` must return log probabilities, an array of shape "
            f"{(*wanted, graphs.task.vocabulary)}, got {described(predictions)}."
        )
