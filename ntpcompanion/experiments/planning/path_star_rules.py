"""What is exactly true of path-star graphs, and of predictors of their answers written by hand."""

from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.planning.answer_scores import score_answers
from ntpcompanion.planning.oracles import cheat_loss, follow_edges, look_back, plan_path
from ntpcompanion.planning.path_star_task import Graphs, PathStar, draw_graphs
from ntpcompanion.planning.question_layout import read_graphs
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

TOPOLOGIES = ((2, 4), (2, 5), (5, 5), (10, 5), (2, 20), (20, 5))  # d and l
LABELS = 100
ANSWERED = 200  # graphs of each topology that the predictors answer
GUESSED = PathStar(arms=2, length=5, labels=50)


class Plan(experiment.Plan):
    """How many graphs are looked at."""

    num_graphs: Annotated[int, Field(ge=1, description="of each topology, of known structure")]
    guesses: Annotated[int, Field(ge=2, description="graphs whose first node is drawn")] = 20_000
    seed: Annotated[int, Field(ge=0, description="of graphs and guesses")]


class Result(experiment.Result):
    """Violations of rules that hold for every graph, and how often a guess is right."""

    broken: Annotated[int, Field(description="graphs that break a rule of the task")]
    cheat_error: Annotated[
        float, Field(description="largest distance of the cheat's loss from ln(d)/l, nats")
    ]
    planner_error: Annotated[
        float, Field(description="largest loss (nats) and fraction of wrong answers, added")
    ]
    reversed_error: Annotated[
        float, Field(description="the same of the cheat, on answers written backwards")
    ]
    hops_error: Annotated[
        float, Field(description="largest error of the probability after k look-ups, 1/d or 1")
    ]
    guesses: Annotated[int, Field(description="first nodes that were drawn from the cheat")]
    right: Annotated[int, Field(description="how many of them are right")]

    @property
    def cheat_accuracy(self) -> Effect:
        """The fraction of guesses that are right, with two arms."""
        return mean_effect(np.arange(self.guesses) < self.right)


class Errors(NamedTuple):
    """What the predictors of one topology get wrong, as in `Result`."""

    cheat: float
    planner: float
    reversed: float
    hops: float


def run(plan: Plan) -> Result:
    """Check the rules of the task on random graphs of six topologies, and what is proved of
    predictors that read the question alone.

    Returns numbers that are 0 if everything proved holds, and the accuracy of a guess. Cost 2 s for
    10,000 graphs of each topology, in 100 MB.

    Examples
    --------
    >>> from ntpcompanion.experiments.planning import path_star_rules
    >>> found = path_star_rules.run(path_star_rules.Plan(num_graphs=10, guesses=100, seed=0))
    >>> found.broken, found.cheat_error < 1e-12, 0.3 < found.cheat_accuracy.mean < 0.7
    (0, True, True)
    """
    errors = [_errors(plan, arms, length) for arms, length in TOPOLOGIES]
    return Result(
        broken=sum(_broken(plan, arms, length) for arms, length in TOPOLOGIES),
        cheat_error=max(error.cheat for error in errors),
        planner_error=max(error.planner for error in errors),
        reversed_error=max(error.reversed for error in errors),
        hops_error=max(error.hops for error in errors),
        guesses=plan.guesses,
        right=_right_guesses(plan),
    )


def _broken(plan: Plan, arms: int, length: int) -> int:
    """Graphs with a wrong number of nodes, tokens or children, or a wrong edge in the answer."""
    task = PathStar(arms=arms, length=length, labels=LABELS, separators=True)
    graphs = draw_graphs(task, plan.num_graphs, stream(plan.seed, f"exact {arms} {length}"))
    question = read_graphs(task, graphs.prefix)
    parent, answer = question.parent, graphs.answer
    edges = np.take_along_axis(parent, answer[:, 1:], 1) != answer[:, :-1]
    ends = (answer[:, 0] != question.root) | (answer[:, -1] != question.goal)
    parents = question.edges[:, :, 0]
    children = (parents[:, :, None] == parents[:, None]).sum(2)
    expected = np.where(parents == question.root[:, None], arms, 1)
    nodes = (parent >= 0).sum(1) + 1
    tokens = (graphs.prefix.shape[1], length) != (3 * task.edges + 3, answer.shape[1])
    wrong = edges.any(1) | ends | (children != expected).any(1) | (nodes != task.nodes) | tokens
    return int(wrong.sum())


def _errors(plan: Plan, arms: int, length: int) -> Errors:
    task = PathStar(arms=arms, length=length, labels=LABELS)
    backwards = PathStar(arms=arms, length=length, labels=LABELS, reversed=True)
    graphs, again = (
        draw_graphs(one, ANSWERED, stream(plan.seed, f"by hand {arms} {length}"))
        for one in (task, backwards)
    )
    cheat = score_answers(graphs, partial(follow_edges, task))
    planner = score_answers(graphs, partial(plan_path, task))
    parents = score_answers(again, partial(follow_edges, backwards))
    return Errors(
        cheat=abs(cheat.loss - cheat_loss(arms, length)),
        planner=planner.loss + 1 - planner.exact,
        reversed=parents.loss + 1 - parents.exact,
        hops=max(_hops_error(graphs, hops) for hops in range(length)),
    )


def _hops_error(graphs: Graphs, hops: int) -> float:
    """Of the probability of the first node after so many look-ups of a parent."""
    task = graphs.task
    guess = np.exp(look_back(task, graphs.prefix, hops))
    right = np.take_along_axis(guess, graphs.answer[:, 1:2], 1)
    return float(abs(right - (1 if hops >= task.length - 2 else 1 / task.arms)).max())


def _right_guesses(plan: Plan) -> int:
    """Draws of the first node from the cheat's probabilities that are right."""
    graphs = draw_graphs(GUESSED, plan.guesses, stream(plan.seed, "guesses"))
    noise = stream(plan.seed, "noise").gumbel(size=(plan.guesses, GUESSED.vocabulary))
    likely = follow_edges(GUESSED, graphs.prefix, graphs.answer[:, :-1])[:, 1]
    return int(((likely + noise).argmax(1) == graphs.answer[:, 1]).sum())
