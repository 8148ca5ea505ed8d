"""Are states of contexts with equal supports closer than similar predictions explain?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from pydantic import Field
from scipy.spatial import cKDTree

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.model_text import ModelText, load, read_contexts
from ntpcompanion.languages.pretrained.hidden_states import HiddenStates, hidden_states
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files
SIMILARITIES = ("affinity", "entropy", "token", "logits")  # of two contexts; each has a caliper


class Plan(ModelText):
    """How pairs with equal supports are matched to pairs with different ones."""

    least_times: Annotated[int, Field(ge=1, description="contexts seen less often are left out")]
    last_layer: Annotated[int, Field(ge=1, description="blocks of the model")]
    affinity_caliper: Annotated[
        float, Field(gt=0, le=1, description="largest difference in a match of the affinities")
    ]
    entropy_caliper: Annotated[
        float, Field(gt=0, description="the same of the mean entropies, nats")
    ]
    token_caliper: Annotated[
        float, Field(gt=0, le=2, description="the same of the cosines of the last tokens")
    ]
    logits_caliper: Annotated[
        float, Field(gt=0, le=2, description="the same of the cosines of the logits")
    ]
    controls: Annotated[int, Field(ge=1, description="nearest pairs that are taken, at most")]
    permutations: Annotated[int, Field(ge=1, description="of the supports, for the null")]


class Difference(experiment.Result):
    """Of pairs with equal supports minus pairs with different ones; each support counts once."""

    pairs: Annotated[int, Field(ge=1, description="with equal supports")]
    supports: Annotated[int, Field(ge=1, description="that they have, different ones")]
    affinity: Annotated[float, Field(description="of the predictions")]
    cosines: Annotated[tuple[float, ...], Field(description="of the states, for each layer")]


class Matching(experiment.Result):
    """Pairs with equal supports beside others with as many successors: all of them; those whose
    predictions and last tokens are as similar; those whose logits are as similar, too.
    """

    unmatched: Difference
    matched: Difference
    matched_logits: Difference


class Result(experiment.Result):
    """One part of a text; layer 0 holds the embeddings of tokens."""

    contexts: Annotated[int, Field(ge=2, description="that are compared")]
    times: Annotated[int, Field(ge=1, description="they are seen, all together")]
    one_successor: Annotated[float, Field(ge=0, le=1, description="fraction of the contexts")]
    text: Matching
    permuted: Annotated[
        tuple[Difference, ...],
        Field(
            description="matched, with supports exchanged among contexts with as many successors"
        ),
    ]
    text_sha256: str


def run(plan: Plan) -> Result:
    """Compare the cosines of states between contexts with equal supports with those between
    contexts with different supports whose next tokens the model predicts as similarly
    (Zhao et al. 2024, proposition 1: of free features, directions are a function of the support).

    Returns the result for one part of the text. SmolLM2-135M, 1,300 contexts: some minutes on one
    core, and 5 GB.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError, MemoryError
        as `load_causal_model`, `read_contexts` and `hidden_states`; no two contexts to compare.

    Examples
    --------
    >>> from ntpcompanion.experiments import support_collapse
    >>> part = {"segments": 8, "segment": 2, "context_length": 4, "contexts": 2000, "seed": 0}
    >>> near = {"affinity_caliper": 0.02, "entropy_caliper": 0.5, "token_caliper": 0.1}
    >>> rest = {"logits_caliper": 0.05, "controls": 5, "permutations": 10, "last_layer": 30}
    >>> plan = support_collapse.Plan(**part, **near, **rest, least_times=2)
    >>> support_collapse.run(plan).text.matched.cosines[-1]  # doctest: +SKIP
    """
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    often = data.counts.sum(axis=1) >= plan.least_times
    contexts, counts = data.contexts[often], data.counts[often]
    read = hidden_states(loaded.model, contexts, loaded.bos, range(plan.last_layer + 1))
    size, rng = (counts > 0).sum(axis=1), stream(plan.seed, "supports")
    kind = np.unique(counts > 0, axis=0, return_inverse=True)[1].ravel()
    pairs = comparable_pairs(plan, contexts, size, read)
    exchanged = [exchange(kind, size, rng) for _ in range(plan.permutations)]
    return Result(
        contexts=len(contexts),
        times=int(counts.sum()),
        one_successor=float((size == 1).mean()),
        text=match(pairs, kind, plan.controls),
        permuted=tuple(match(pairs, other, plan.controls).matched for other in exchanged),
        text_sha256=data.text_sha256,
    )


def layer_table(results: Sequence[Result]) -> pd.DataFrame:
    """A row for each part of the text, numbered from 0, and layer: the differences of the cosines,
    as in `Matching`, and the mean over permutations, `null`.
    """
    parts = [
        pd.DataFrame(
            {
                "part": part,
                **{name: one.cosines for name, one in result.text},
                "null": np.mean([one.cosines for one in result.permuted], axis=0),
            }
        ).rename_axis("layer")
        for part, result in enumerate(results)
    ]
    return pd.concat(parts).reset_index()


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of contexts that have no token in common and as many successors.

    Fields
    ------
    first, second
        contexts of each pair.
    size
        how many successors either has.
    similarity
        in units of the calipers: the Bhattacharyya affinity Σ_z √(q_z q'_z) of the model's
        next-token distributions, the mean of their entropies, the cosine of the last tokens'
        embeddings, and that of the logits.
    values
        the affinity, then the cosine of the states for each layer.

    Cosines are those of vectors minus their mean over the contexts.
    """

    first: Int[np.ndarray, " n"]
    second: Int[np.ndarray, " n"]
    size: Int[np.ndarray, " n"]
    similarity: Float[np.ndarray, "n 4"]
    values: Float[np.ndarray, "values n"]


def comparable_pairs(
    plan: Plan, contexts: Int[np.ndarray, "m t"], size: Int[np.ndarray, " m"], read: HiddenStates
) -> Pairs:
    """All of these contexts, with `size` successors. Holds some 300 bytes a pair."""
    has = (contexts[:, :, None] == np.unique(contexts)).any(axis=1).astype(np.float32)
    comparable = (has @ has.T == 0) & (size[:, None] == size)
    i, j = np.nonzero(np.triu(comparable, 1))
    root = np.exp(read.log_p / 2)
    entropy = -np.einsum("mz,mz,mz->m", root, root, read.log_p)
    affinity = (root @ root.T)[i, j]
    states = [_cosines(layer)[i, j] for layer in read.states]
    logits = _cosines(read.log_p - read.log_p.mean(axis=1, keepdims=True))[i, j]
    similarity = np.column_stack([affinity, (entropy[i] + entropy[j]) / 2, states[0], logits])
    similarity /= [getattr(plan, f"{name}_caliper") for name in SIMILARITIES]
    return Pairs(i, j, size[i], similarity, np.stack([affinity, *states]))


def exchange(
    kind: Int[np.ndarray, " m"], size: Int[np.ndarray, " m"], rng: np.random.Generator
) -> Int[np.ndarray, " m"]:
    """The supports exchanged at random among contexts with as many successors."""
    exchanged = kind.copy()
    for value in np.unique(size):
        rows = np.flatnonzero(size == value)
        exchanged[rows] = kind[rng.permutation(rows)]
    return exchanged


def match(pairs: Pairs, kind: Int[np.ndarray, " m"], controls: int) -> Matching:
    """Each pair of contexts of equal support, which `kind` numbers, minus the mean of pairs of
    different supports of that size: of all, and of the nearest ones within the calipers, without
    and with that of the logits. Differences are averaged within each support, then over supports.

    Raises ValueError where there is nothing to compare.
    """
    label, values = kind[pairs.first], pairs.values
    equal = label == kind[pairs.second]
    treated = np.flatnonzero(equal & np.isin(pairs.size, pairs.size[~equal]))
    baseline = np.empty((len(values), len(treated)))
    near = np.empty((2, len(treated), controls), dtype=int)
    for size in np.unique(pairs.size[treated]):
        pool = np.flatnonzero(~equal & (pairs.size == size))
        rows = pairs.size[treated] == size
        baseline[:, rows] = values[:, pool].mean(axis=1, keepdims=True)
        for way, columns in enumerate((pairs.similarity[:, :-1], pairs.similarity)):
            near[way, rows] = nearest(columns, treated[rows], pool, controls)
    changes = []
    for chosen in near:
        some = np.flatnonzero((chosen >= 0).any(axis=1))
        rows, control = treated[some], mean_of(values, chosen[some])
        changes.append(_difference(label[rows], values[:, rows] - control))
    unmatched = _difference(label[treated], values[:, treated] - baseline)
    return Matching(unmatched=unmatched, matched=changes[0], matched_logits=changes[1])


def mean_of(
    values: Float[np.ndarray, "values n"], near: Int[np.ndarray, "t k"]
) -> Float[np.ndarray, "values t"]:
    """Over the columns that each row of `near` names; -1 names none."""
    weight = (near >= 0) / (near >= 0).sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("lnk,nk->ln", values[:, near], weight))


def nearest(
    similarity: Float[np.ndarray, "n q"],
    treated: Int[np.ndarray, " t"],
    pool: Int[np.ndarray, " p"],
    controls: int,
) -> Int[np.ndarray, "t k"]:
    """For each treated pair the nearest of the pool, by the largest of the differences, of those
    within 1; -1 where there are fewer than `controls`.
    """
    tree = cKDTree(similarity[pool])
    order = range(1, controls + 1)
    near = tree.query(similarity[treated], k=order, p=np.inf, distance_upper_bound=1)[1]
    return np.asarray(np.append(pool, -1)[near])


def _cosines(states: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m m"]:
    """Of the rows minus their mean; 0 where a row is the mean."""
    centred = states - states.mean(axis=0)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, length, out=np.zeros(centred.shape), where=length > 0)
    return np.asarray(unit @ unit.T)


def _difference(label: Int[np.ndarray, " n"], values: Float[np.ndarray, "values n"]) -> Difference:
    """Means within each support that `label` numbers, then over supports."""
    if not len(label):
        raise ValueError("`contexts` have no pairs of equal supports to compare. Take more.")
    group, times = np.unique(label, return_inverse=True, return_counts=True)[1:]
    mean = (values / times[group]).sum(axis=1) / len(times)
    return Difference(
        pairs=len(label),
        supports=len(times),
        affinity=float(mean[0]),
        cosines=tuple(mean[1:].tolist()),
    )
