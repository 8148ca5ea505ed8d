"""Does the output matrix of a language model point where the theory of the next-token SVM says, and
what separates its loss on a text from the entropy of the text?
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from pydantic import Field
from scipy.special import logsumexp

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.model_text import (
    LoadedModel,
    ModelContexts,
    ModelText,
    load,
    read_contexts,
    table_of_counts,
)
from ntpcompanion.experiments.real_model.stored_table import HalfMatrix, StoredTable
from ntpcompanion.languages.pretrained.hidden_states import HiddenStates, hidden_states
from ntpcompanion.linear.dynamics.descent import descend, step_bound
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.separability.ties import centre, project_onto_F
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files
EQUAL = 1e-9  # log-odds that are rounding
Null = Literal["none", "shuffled", "same last token", "layer", "rotated"]


class Plan(ModelText):
    """Nulls, samples of the model, and steps of gradient descent from its output matrix."""

    last_layer: Annotated[int, Field(ge=1, description="blocks of the model")]
    other_layer: Annotated[int, Field(ge=0, description="whose states are a null")]
    samples: Annotated[int, Field(ge=2, description="of the text, drawn from the model")]
    steps: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=1, description="of gradient descent that are looked at, rising"),
    ]
    store: Annotated[bool, Field(description="keep states and output rows")] = False


class Split(experiment.Result):
    """Loss of a model above the entropy of a table: floor + inside + outside, all in nats."""

    floor: Annotated[float, Field(ge=0, description="entropy H of the table")]
    inside: Annotated[float, Field(description="divergence from the table within supports")]
    outside: Annotated[float, Field(ge=0, description="for probability off the supports")]

    @property
    def excess(self) -> float:
        """Loss minus floor."""
        return self.inside + self.outside


class Comparison(experiment.Result):
    """An output matrix beside the solutions that the first paper predicts for a table."""

    null: Annotated[
        Null,
        Field(
            description="none: the model on the text; otherwise successors of another context, or "
            "of another that ends with the same token, states of another layer, or the matrix in a "
            "random orthonormal basis"
        ),
    ]
    outside: Annotated[
        float, Field(ge=-1, le=1, description="cosine of the part outside of F with W^mm")
    ]
    outside_logits: Annotated[float, Field(ge=-1, le=1, description="the same of their logits")]
    inside: Annotated[float, Field(ge=-1, le=1, description="cosine of the part in F with W*")]
    odds: Annotated[
        float,
        Field(
            ge=-1,
            le=1,
            description="cosine of its in-support log-odds with the text's, in contexts whose "
            "successors are not equally frequent",
        ),
    ]
    ordered: Annotated[
        float,
        Field(
            ge=0, le=1, description="tokens off a support that are below all of it, of all pairs"
        ),
    ]
    norm: Annotated[float, Field(ge=0, description="of the part outside of F")]
    svm_norm: Annotated[float, Field(gt=0, description="of W^mm")]


class Step(experiment.Result):
    """Gradient descent on the output matrix, all else fixed."""

    step: int
    excess: Annotated[float, Field(ge=0, description="over the floor, V tokens, nats")]
    outside: Annotated[float, Field(description="cosine of the part outside of F with W^mm")]
    change: Annotated[float, Field(description="cosine of what was added outside of F with W^mm")]


class Result(experiment.Result):
    """One part of a text."""

    tokens: Annotated[int, Field(ge=2, description="V, different successors")]
    times: Annotated[int, Field(ge=1, description="the contexts are seen, all together")]
    one_successor: Annotated[float, Field(ge=0, le=1, description="fraction of the contexts")]
    entropy: Annotated[float, Field(ge=0, description="of the model's next token, nats")]
    text: Split
    samples: Annotated[tuple[Split, ...], Field(description="of texts drawn from the model")]
    comparisons: tuple[Comparison, ...]
    descent: tuple[Step, ...]
    descent_from_zero: Annotated[tuple[Step, ...], Field(description="instead of the model")]
    text_sha256: str
    stored: StoredTable | None = None


def run(plan: Plan) -> Result:
    """Compare the output matrix of a model, at the most frequent contexts of a text, with W* and
    W^mm of the text, and split its loss.

    Returns the result for one part of the text. SmolLM2-135M, 400 contexts, 3,000 steps: some
    minutes on one core.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError, MemoryError
        as `load_causal_model`, `read_contexts` and `hidden_states`; a table that is not separable.

    Examples
    --------
    >>> from ntpcompanion.experiments import output_matrix
    >>> part = {"segments": 8, "segment": 2, "context_length": 4, "contexts": 300, "seed": 0}
    >>> nulls = {"last_layer": 30, "other_layer": 20, "samples": 5, "steps": (100, 1000)}
    >>> plan = output_matrix.Plan(**part, **nulls)
    >>> output_matrix.run(plan).text.excess  # doctest: +SKIP
    """
    loaded = load(plan)
    data = read_contexts(plan, loaded.tokenizer)
    layers = plan.last_layer, plan.other_layer
    read = hidden_states(loaded.model, data.contexts, loaded.bos, layers)
    output: Any = loaded.model.get_output_embeddings()
    matrix = output.weight.detach().double().cpu().numpy()[data.successors]
    states, other = read.states
    rng = stream(plan.seed, "successors")
    tables: dict[Null, ContextTable] = {
        "none": data.table(states),
        "shuffled": table_of_counts(states, data.exchange(rng)),
        "same last token": table_of_counts(states, data.exchange(rng, same_last=True)),
        "layer": data.table(other),
    }
    solutions = {null: _svm(table) for null, table in tables.items()}
    plain, dim = tables["none"], matrix.shape[1]
    basis = np.linalg.qr(stream(plan.seed, "basis").standard_normal((dim, dim)))[0]
    comparisons = [compare(null, tables[null], matrix, solutions[null]) for null in tables]
    comparisons.append(compare("rotated", plain, matrix @ basis, solutions["none"]))
    return Result(
        tokens=len(data.successors),
        times=int(data.counts.sum()),
        one_successor=float((plain.support_sizes == 1).mean()),
        entropy=float(plain.weight @ -(np.exp(read.log_p) * read.log_p).sum(axis=1)),
        text=split_loss(data.counts, read.log_p[:, data.successors]),
        samples=sample_splits(data, read, plan),
        comparisons=tuple(comparisons),
        descent=follow(plain, matrix, solutions["none"], plan.steps),
        descent_from_zero=follow(plain, 0 * matrix, solutions["none"], plan.steps),
        text_sha256=data.text_sha256,
        stored=_stored(loaded, data, read, matrix) if plan.store else None,
    )


def comparison_table(results: Sequence[Result]) -> pd.DataFrame:
    """A row for each part of the text, numbered from 0, and `null`."""
    rows = [
        {"part": part, **vars(comparison)}
        for part, result in enumerate(results)
        for comparison in result.comparisons
    ]
    return pd.DataFrame(rows)


def descent_table(results: Sequence[Result]) -> pd.DataFrame:
    """A row for each part of the text, `start` and step."""
    rows = [
        {"part": part, "start": start, **vars(step)}
        for part, result in enumerate(results)
        for start, course in (("model", result.descent), ("zero", result.descent_from_zero))
        for step in course
    ]
    return pd.DataFrame(rows)


def loss_table(results: Sequence[Result]) -> pd.DataFrame:
    """A row for each part of the text: `floor`, `inside` and `outside` for the text, and the same
    with `own ` before it, means of the texts that the model drew.
    """
    rows = []
    for result in results:
        drawn = pd.DataFrame([vars(split) for split in result.samples]).mean()
        rows.append({**vars(result.text), **drawn.add_prefix("own ")})
    return pd.DataFrame(rows)


def split_loss(counts: Int[np.ndarray, "m V"], log_q: Float[np.ndarray, "m V"]) -> Split:
    """The loss of a model with log-probabilities `log_q`, which need not sum to 1, on m contexts
    with the successors that were counted.
    """
    times = counts.sum(axis=1)
    weight, p, support = times / times.sum(), counts / times[:, None], counts > 0
    mass = logsumexp(np.where(support, log_q, -np.inf), axis=1)
    log_p = np.log(p, out=np.zeros(p.shape), where=support)
    within = (p * (log_p - np.where(support, log_q, 0.0))).sum(axis=1) + mass
    floor = -(p * log_p).sum(axis=1)
    return Split(
        floor=abs(float(weight @ floor)),
        inside=float(weight @ within),
        outside=max(0.0, float(-(weight @ mass))),
    )


def sample_splits(data: ModelContexts, read: HiddenStates, plan: Plan) -> tuple[Split, ...]:
    """As many successors of each context as in the text, drawn from the model: what its loss would
    be if it were the language.
    """
    rng = stream(plan.seed, "samples")
    q = np.exp(read.log_p)
    q /= q.sum(axis=1, keepdims=True)
    times = data.counts.sum(axis=1)
    return tuple(split_loss(rng.multinomial(times, q), read.log_p) for _ in range(plan.samples))


def compare(
    null: Null, table: ContextTable, matrix: Float[np.ndarray, "V d"], svm: Float[np.ndarray, "V d"]
) -> Comparison:
    """The parts of the output matrix that act on the states of the table, beside W* and W^mm."""
    inside, outside = parts(table, matrix)
    logits, support = table.embeddings @ matrix.T, table.support.toarray()
    lowest = np.where(support, logits, np.inf).min(axis=1, keepdims=True)
    log_p = np.log(table.distributions.toarray(), where=support, out=np.zeros(support.shape))
    target = centre(log_p, support)
    unequal = np.abs(target).max(axis=1) > EQUAL
    return Comparison(
        null=null,
        outside=_cosine(outside, svm),
        outside_logits=_cosine(table.embeddings @ outside.T, table.embeddings @ svm.T),
        inside=_cosine(inside, check_compatibility(table).finite_part),
        odds=_cosine(centre(logits, support)[unequal], target[unequal]),
        ordered=float((logits < lowest).sum() / (~support).sum()),
        norm=float(np.linalg.norm(outside)),
        svm_norm=float(np.linalg.norm(svm)),
    )


def parts(
    table: ContextTable, matrix: Float[np.ndarray, "V d"]
) -> tuple[Float[np.ndarray, "V d"], Float[np.ndarray, "V d"]]:
    """The part in F and the part outside, of what a matrix does to these embeddings up to a
    constant for all tokens: both lie in the span of (e_z − e_v) h_jᵀ, as W* and W^mm do.
    """
    _, singular, right = np.linalg.svd(table.embeddings, full_matrices=False)
    span = right[singular > singular[0] * len(right) * np.finfo(float).eps]
    seen = (matrix - matrix.mean(axis=0)) @ span.T @ span
    inside = project_onto_F(table, seen)
    return inside, seen - inside


def follow(
    table: ContextTable,
    start: Float[np.ndarray, "V d"],
    svm: Float[np.ndarray, "V d"],
    steps: Sequence[int],
) -> tuple[Step, ...]:
    """Gradient descent on the table from `start`, at the largest step size of the theorem."""
    snapshots = descend(
        table,
        optimizer="gd",
        learning_rate=step_bound(table),
        steps=steps[-1],
        keep=steps,
        rng=stream(0, "unused: the start is given"),
        start=start,
    )
    before = parts(table, start)[1]
    path = []
    for snapshot in snapshots:
        outside = parts(table, snapshot.weights)[1]
        excess, change = table.excess(snapshot.weights), _cosine(outside - before, svm)
        cosines = {"outside": _cosine(outside, svm), "change": change}
        path.append(Step(step=snapshot.step, excess=excess, **cosines))
    return tuple(path)


def _svm(table: ContextTable) -> Float[np.ndarray, "V d"]:
    solution = solve_ntp_svm(table)
    if solution.weights is None:
        raise ValueError(
            f"`contexts` = {table.num_contexts} in {table.dim} dimensions: no next-token SVM "
            f"({solution.verdict.value}). Take fewer contexts."
        )
    return solution.weights


def _cosine(first: np.ndarray, second: np.ndarray) -> float:
    lengths = np.linalg.norm(first) * np.linalg.norm(second)
    return float(np.clip((first * second).sum() / lengths, -1, 1)) if lengths else 0.0


def _stored(
    loaded: LoadedModel, data: ModelContexts, read: HiddenStates, matrix: Float[np.ndarray, "V d"]
) -> StoredTable:
    rows, columns = np.nonzero(data.counts)
    triples = np.column_stack([rows, columns, data.counts[rows, columns]]).tolist()
    text = loaded.tokenizer.decode
    return StoredTable(
        contexts=tuple(text(context) for context in data.contexts),
        successors=tuple(text([token]) for token in data.successors),
        times=tuple((j, z, n) for j, z, n in triples),
        states=HalfMatrix.of(read.states[0]),
        matrix=HalfMatrix.of(matrix),
    )
