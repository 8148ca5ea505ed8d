"""A small transformer that recalls facts from its weights and copies from its prompt, pruned."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from ntpcompanion.adaptation.finetuning import linear_layers
from ntpcompanion.adaptation.pruning import pruned
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.randomness import stream

Task = Literal["recall", "copying", "overriding"]
TASKS: tuple[Task, ...] = ("recall", "copying", "overriding")
Part = Literal["all", "feed-forward", "attention"]
PARTS: dict[Part, tuple[str, ...]] = {
    "all": ("query", "key_value", "out", "up", "down"),
    "feed-forward": ("up", "down"),
    "attention": ("query", "key_value", "out"),
}


class Plan(experiment.Plan):
    """One network, and how it is trained and pruned."""

    facts: Annotated[int, Field(ge=1, description="keys with a value in the weights")] = 500
    fresh: Annotated[int, Field(ge=1, description="keys that have values in prompts only")] = 100
    values: Annotated[int, Field(ge=2, description="how many")] = 50
    pairs: Annotated[int, Field(ge=2, description="of key and value in a prompt")] = 2
    width: Annotated[int, Field(ge=4, description="of the network; a multiple of 4")] = 64
    layers: Annotated[int, Field(ge=1, description="of the network, 4 heads each")] = 2
    deviation: Annotated[float, Field(gt=0, description="of initial matrices and embeddings")] = 0.1
    steps: Annotated[int, Field(ge=1, description="of AdamW")] = 2600
    batch_size: Annotated[int, Field(ge=1, description="prompts of each task in a step")] = 32
    learning_rate: Annotated[float, Field(gt=0, description="the largest")] = 3e-3
    tested: Annotated[int, Field(ge=1, description="prompts of each task but recall")] = 400
    sparsities: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        Field(min_length=1, description="increasing fractions of each matrix that become 0"),
    ]
    seed: Annotated[int, Field(ge=0, description="of facts, network and training")]


class Accuracy(experiment.Result):
    """Accuracy of one pruned network in one task."""

    part: Annotated[Part, Field(description="matrices that are pruned")]
    task: Task
    sparsity: float
    accuracy: float


class Result(experiment.Result):
    """One network."""

    accuracies: tuple[Accuracy, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each accuracy."""
        return table_of(self.accuracies)

    def tolerated(self, loss: float = 0.05) -> dict[tuple[Part, Task], float]:
        """The largest sparsity up to which the accuracy falls by at most that fraction."""
        rows = self.table.set_index(["part", "task"])
        values = {
            (part, task): rows.loc[(part, task), ["sparsity", "accuracy"]].to_numpy()
            for part in PARTS
            for task in TASKS
        }
        return {
            case: tolerated_sparsity(both[:, 0], both[:, 1], loss) for case, both in values.items()
        }


def tolerated_sparsity(sparsities: np.ndarray, accuracies: np.ndarray, loss: float = 0.05) -> float:
    """The largest sparsity of an increasing list up to which every accuracy is at least 1 − loss
    times the first one, which belongs to sparsity 0.
    """
    failed = np.flatnonzero(accuracies < (1 - loss) * accuracies[0])
    return float(sparsities[failed[0] - 1] if len(failed) else sparsities[-1])


def run(plan: Plan) -> Result:
    """Train a causal transformer on three tasks at once, prune it by magnitude, and test it.

    A prompt holds pairs of a key and a value, half of them of fresh keys and half of keys of facts,
    whose values are other ones than in the facts; then one more key. Recall: the key of another
    fact, whose value must come from the weights. Copying: a fresh key of the prompt. Overriding:
    the key of a fact in the prompt, whose value is the one in the prompt. Each matrix that is
    pruned is pruned to the same sparsity. Embeddings of tokens stay as they were drawn, so that
    facts are in the matrices.

    Returns the accuracy of each task on the same new prompts. With the default sizes 40 s of one
    core.

    Examples
    --------
    >>> from ntpcompanion.experiments import pruned_transformer
    >>> sizes = {"facts": 20, "fresh": 5, "values": 4, "pairs": 2, "width": 8, "layers": 1}
    >>> brief = {"steps": 5, "batch_size": 4, "tested": 10, "sparsities": (0.5,), "seed": 0}
    >>> result = pruned_transformer.run(pruned_transformer.Plan(**sizes, **brief))
    >>> result.table.shape  # three parts, three tasks, two sparsities
    (18, 4)
    """
    value = stream(plan.seed, "facts").integers(plan.values, size=plan.facts)
    model = _trained(plan, value)
    rng, rows = stream(plan.seed, "tested prompts"), []
    prompts, task_of = _shuffled(draw_prompts(plan, value, plan.tested, rng), rng)
    for part, sparsity in ((part, s) for part in PARTS for s in (0.0, *plan.sparsities)):
        names = [name for name in linear_layers(model) if name.endswith(PARTS[part])]
        with pruned(model, names, sparsity), torch.no_grad():
            right = _logits(plan, model, prompts).argmax(-1).numpy() == prompts.answers
        for number, task in enumerate(TASKS):
            accuracy = float(right[:, task_of == number].mean())
            rows.append(Accuracy(part=part, task=task, sparsity=sparsity, accuracy=accuracy))
    return Result(accuracies=tuple(rows))


@dataclass(frozen=True, eq=False)
class Prompts:
    """Facts are the first tokens, then fresh keys, then values.

    Fields
    ------
    pairs
        (n, pairs, 2), key and value.
    keys, answers
        (n, asked): keys that are asked for one after the other, and their values.
    """

    pairs: Int[np.ndarray, "n pairs 2"]
    keys: Int[np.ndarray, "n asked"]
    answers: Int[np.ndarray, "n asked"]


def draw_prompts(
    plan: Plan, value: Int[np.ndarray, " facts"], number: int, rng: np.random.Generator
) -> Prompts:
    """Prompts whose keys are, a third each, those of `TASKS` in this order."""
    half, first = plan.pairs // 2, plan.facts + plan.fresh
    facts = _distinct(rng, number, plan.facts, 2 * half)
    recalled, overridden = facts[:, :half], facts[:, half:]
    fresh = plan.facts + _distinct(rng, number, plan.fresh, half)
    others = rng.integers(1, plan.values, size=overridden.shape)
    new = (value[overridden] + others) % plan.values
    free = rng.integers(plan.values, size=fresh.shape)
    pairs = np.stack([np.hstack([fresh, overridden]), first + np.hstack([free, new])], -1)
    answers = first + np.hstack([value[recalled], free, new])
    keys = np.hstack([recalled, fresh, overridden])
    order = rng.random((number, 2 * half, 1)).argsort(axis=1)
    return Prompts(np.take_along_axis(pairs, order, axis=1), keys, answers)


def _distinct(
    rng: np.random.Generator, rows: int, total: int, number: int
) -> Int[np.ndarray, "rows number"]:
    lowest: Int[np.ndarray, "rows number"] = rng.random((rows, total)).argsort(axis=1)[:, :number]
    return lowest


def _shuffled(
    prompts: Prompts, rng: np.random.Generator
) -> tuple[Prompts, Int[np.ndarray, " asked"]]:
    order = rng.permutation(prompts.keys.shape[1])
    task_of = order // (len(order) // len(TASKS))
    return Prompts(prompts.pairs, prompts.keys[:, order], prompts.answers[:, order]), task_of


def _trained(plan: Plan, value: Int[np.ndarray, " facts"]) -> LanguageModel:
    size = TransformerSize(plan.width, layers=plan.layers, heads=4)
    positions = 2 * plan.pairs + 6 * (plan.pairs // 2) - 1
    shape = size.for_sentences(plan.facts + plan.fresh + plan.values, positions)
    model = build_model(shape, plan.seed, causal=True, deviation=plan.deviation)
    rng = stream(plan.seed, "training prompts")
    model.words.requires_grad_(requires_grad=False)
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, plan.learning_rate, weight_decay=0.0)
    rising, falling = plan.steps / 20, plan.steps / 5
    for step in range(plan.steps):
        factor = min(1.0, (step + 1) / rising, (plan.steps - step) / falling)
        optimizer.param_groups[0]["lr"] = plan.learning_rate * factor
        prompts, _ = _shuffled(draw_prompts(plan, value, plan.batch_size, rng), rng)
        logits = _logits(plan, model, prompts).flatten(0, 1)
        loss = F.cross_entropy(logits, torch.from_numpy(prompts.answers).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def _logits(plan: Plan, model: LanguageModel, prompts: Prompts) -> Float[Tensor, "n asked words"]:
    """After each key; the answers to earlier keys stand behind these."""
    n, asked = prompts.keys.shape
    questions = np.stack([prompts.keys, prompts.answers], -1).reshape(n, -1)[:, :-1]
    rows = np.hstack([prompts.pairs.reshape(n, -1), questions])
    positions = np.tile(2 * plan.pairs + 2 * np.arange(asked), (n, 1))
    logits: Tensor = model(torch.from_numpy(rows), torch.from_numpy(positions))
    return logits
