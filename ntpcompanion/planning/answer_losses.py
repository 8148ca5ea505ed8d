"""Losses on path-star answers: next token with a weight for each position, and teacherless."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.checks import Device, Is, Length, Positive, Range, Seed, Size, checked, need
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.planning.oracles import Predictor
from ntpcompanion.planning.path_star_task import Graphs, PathStar

PADDING = -1
Planner = Annotated[
    LanguageModel,
    Is(lambda model: getattr(model, "causal", False), "be causal, as of `build_planner`"),
]
# at width 64 the scale .06 · √64 = .48 lies between those of GPTs, .02 · √384 = .39 and
# .02 · √768 = .55
INITIAL_DEVIATION = 0.06


@dataclass(frozen=True)
@checked
class Objective:
    """Which tokens of the answer are trained, and what the network sees of it.

    The loss is the mean of the cross-entropies of the l tokens, with weights that are divided by
    their sum.

    Fields
    ------
    weights
        one for each position of the answer, not negative, some positive.
    teacherless
        whether dummies are fed in the place of the answer's tokens, so that every token is
        predicted from the question alone, all at once (Monea et al. 2023).

    Raises
    ------
    ValueError
        weights that are negative, not finite, or all zero.

    Examples
    --------
    >>> from ntpcompanion.planning import Objective
    >>> next_token = Objective(weights=(1.0, 1.0, 1.0, 1.0))
    >>> first_node_only = Objective(weights=(0.0, 1.0, 0.0, 0.0))
    >>> all_at_once = Objective(weights=(1.0, 1.0, 1.0, 1.0), teacherless=True)
    """

    weights: Annotated[
        tuple[float, ...], Length(1), Range(0), Is(lambda weights: any(weights), "not be all 0")
    ]
    teacherless: bool = False


@checked
def build_planner(
    task: PathStar,
    size: TransformerSize,
    seed: Seed,
    device: Device = "cpu",
    *,
    deviation: Positive = INITIAL_DEVIATION,
) -> LanguageModel:
    """A small GPT for one task: a causal transformer with learned positions and a tied decoder.

    Parameters
    ----------
    task
        decides vocabulary and longest input.
    size
        width, layers and heads.
    seed
        of the initial parameters.
    device
        as for torch.
    deviation
        of the initial matrices and embeddings. The usual .02 belongs to networks of width 768.

    Returns
    -------
    LanguageModel
        with its initial parameters, float32.

    Raises
    ------
    ValueError
        what is not a task; as `build_model`.

    Examples
    --------
    >>> from ntpcompanion.networks import TransformerSize, parameters_of
    >>> from ntpcompanion.planning import PathStar, build_planner
    >>> size = TransformerSize(width=64, layers=4, heads=4)
    >>> parameters_of(build_planner(PathStar(arms=2, length=4, labels=8), size, seed=0))
    202444
    """
    positions = task.prefix_length + task.length - 1
    plan = size.for_sentences(task.vocabulary, positions)
    return build_model(plan, seed, device, causal=True, deviation=deviation)


@checked(
    need("model", "model.plan.words >= task.labels + 4", "have all words"),
    need(
        "model",
        "model.plan.positions >= prefix.shape[1] + fed.shape[1]",
        "have a position for each token of questions and answers",
        "Build it for the longest task.",
    ),
)
def answer_logits(
    model: Planner,
    task: PathStar,
    prefix: Int[Tensor, "n {task.prefix_length}"],
    fed: Int[Tensor, "n {task.length-1}"],
) -> Float[Tensor, "n l vocabulary"]:
    """Logits of every token of the answer: that at position i sees the question and the first i
    tokens of `fed`.

    Parameters
    ----------
    model
        of `build_planner`, for this task or a longer one.
    task
        format of the questions.
    prefix, fed
        the questions, and (n, l − 1) tokens in the place of the answers.

    Returns
    -------
    (n, l, V) tensor
        of which the last layer is computed at these positions only.

    Raises
    ------
    ValueError
        a model with fewer positions than the tokens take, with fewer words than the task, or that
        is not causal; what is not a question of the task.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from ntpcompanion.networks import TransformerSize
    >>> from ntpcompanion.planning import PathStar, answer_logits, build_planner, draw_graphs
    >>> task = PathStar(arms=2, length=4, labels=8)
    >>> model = build_planner(task, TransformerSize(8, layers=1, heads=1), seed=0)
    >>> graphs = draw_graphs(task, 5, np.random.default_rng(0))
    >>> tokens = torch.as_tensor(graphs.prefix), torch.as_tensor(graphs.answer[:, :-1])
    >>> answer_logits(model, task, *tokens).shape
    torch.Size([5, 4, 12])
    """
    tokens = torch.cat([prefix, fed], 1)
    spare = model.plan.positions - tokens.shape[1]
    positions = torch.arange(task.prefix_length - 1, tokens.shape[1], device=tokens.device)
    return model(F.pad(tokens, (0, spare), value=PADDING), positions.expand(len(tokens), -1))


@checked(
    need(
        "objective", "len(objective.weights) == graphs.task.length", "have a weight for each token"
    )
)
def answer_loss(model: Planner, graphs: Graphs, objective: Objective) -> Float[Tensor, ""]:
    """The loss of an objective on some graphs, nats a token.

    Parameters
    ----------
    model
        of `build_planner`.
    graphs
        questions and answers.
    objective
        what is trained.

    Returns
    -------
    0-dimensional tensor
        the weighted mean over positions of the cross-entropy, differentiable in the parameters.

    Raises
    ------
    ValueError
        weights for answers of another length; what are not graphs or no objective; as
        `answer_logits`.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.networks import TransformerSize
    >>> from ntpcompanion.planning import Objective, PathStar, answer_loss, build_planner
    >>> from ntpcompanion.planning import draw_graphs
    >>> task = PathStar(arms=2, length=4, labels=8)
    >>> model = build_planner(task, TransformerSize(8, layers=1, heads=1), seed=0)
    >>> graphs = draw_graphs(task, 100, np.random.default_rng(0))
    >>> loss = answer_loss(model, graphs, Objective((1.0, 1.0, 1.0, 1.0)))
    >>> bool(abs(loss.item() - np.log(12)) < 0.1)  # all 12 tokens are about as likely at first
    True
    """
    task, device = graphs.task, next(model.parameters()).device
    prefix, answer = (torch.as_tensor(x, device=device) for x in (graphs.prefix, graphs.answer))
    fed = _seen(task, answer[:, :-1], objective.teacherless)
    logits = answer_logits(model, task, prefix, fed)
    losses = F.cross_entropy(logits.flatten(0, 1), answer.flatten(), reduction="none")
    weights = torch.tensor(objective.weights, dtype=losses.dtype, device=device)
    return losses.view_as(answer).mean(0) @ (weights / weights.sum())


@checked(need("model", "model.plan.words >= task.labels + 4", "have all words"))
def network_predictor(
    model: Planner, task: PathStar, *, teacherless: bool = False, batch: Size = 256
) -> Predictor:
    """A network as `score_answers` takes it.

    Parameters
    ----------
    model
        of `build_planner`.
    task
        format of the questions.
    teacherless
        whether dummies are fed in the place of what is handed over.
    batch
        questions at once.

    Returns
    -------
    function
        from questions and fed tokens to log probabilities.

    Raises
    ------
    ValueError
        what is not a model, task, flag or size; as `answer_logits`, when it is called.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.networks import TransformerSize
    >>> from ntpcompanion.planning import PathStar, build_planner, draw_graphs
    >>> from ntpcompanion.planning import network_predictor, score_answers
    >>> task = PathStar(arms=2, length=4, labels=8)
    >>> model = build_planner(task, TransformerSize(8, layers=1, heads=1), seed=0)
    >>> graphs = draw_graphs(task, 200, np.random.default_rng(0))
    >>> score_answers(graphs, network_predictor(model, task)).exact < 0.1  # not yet trained
    True
    """
    device = next(model.parameters()).device

    words = Range(0, model.plan.words - 1)

    @torch.no_grad()
    @checked
    def predict(
        prefix: Annotated[Int[np.ndarray, "n prefix"], words],
        fed: Annotated[Int[np.ndarray, "n fed"], words],
    ) -> np.ndarray:
        questions, answers = (torch.as_tensor(x, device=device) for x in (prefix, fed))
        answers = _seen(task, answers, teacherless)
        parts = zip(questions.split(batch), answers.split(batch), strict=True)
        logits = torch.cat([answer_logits(model, task, *part) for part in parts])
        return logits.double().log_softmax(-1).cpu().numpy()

    return predict


def _seen(task: PathStar, fed: Tensor, teacherless: bool) -> Tensor:
    return torch.full_like(fed, task.symbol("$")) if teacherless else fed
