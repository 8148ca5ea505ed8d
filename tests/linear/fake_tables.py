"""Tables, decoders and counts, true and false, with what claims measure on them."""

import json
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import minimize, nnls

from ntpcompanion.experiments.adam import adam_limit
from ntpcompanion.experiments.scale import large_descent
from ntpcompanion.languages import count_contexts
from ntpcompanion.languages.text.prefixes import count_prefixes
from ntpcompanion.linear import (
    ContextTable,
    check_compatibility,
    check_separability,
    project_onto_F,
    solve_ntp_svm,
)
from ntpcompanion.linear.separability.pair_certificate import find_pair_certificate
from ntpcompanion.linear.svm.planar_examples import planar_tables, widest_margin
from ntpcompanion.linear.tables.large_tables import planted_table
from tests.fakes import Family
from tests.linear.cases import table as table_of

RECORDS = Path(__file__).resolve().parents[2] / "book" / "records"


def drawn(name, sizes, number=4):
    seeds = range(number)
    return [ContextTable.random(*sizes, np.random.default_rng([seed, len(name)])) for seed in seeds]


def with_embeddings(tables, change):
    return [ContextTable(change(t.embeddings), t.next_token, t.weight) for t in tables]


def twins(E):
    return np.vstack([E[0], E[0], E[2:]])


def sums(E):
    return np.vstack([E[0], E[1], E[0] + E[1], E[3:]])


def on_a_line(E):
    return np.outer(E[:, 0], E[0])


def both_hold(table):
    answers = check_separability(table), check_compatibility(table)
    return [a.verdict.name for a in answers] == ["SEPARABLE", "COMPATIBLE"]


def smallest_loss(table):
    shape = table.vocab_size, table.dim
    return minimize(
        lambda w: table.excess(w.reshape(shape)),
        np.zeros(np.prod(shape)),
        jac=lambda w: table.gradient(w.reshape(shape)).ravel(),
        options={"gtol": 1e-10},
    ).fun


def compatible(tables):
    return np.mean([check_compatibility(t).verdict.name == "COMPATIBLE" for t in tables])


WIDE, ONE_HOT = drawn("wide", (5, 4, 2, 6)), drawn("one hot", (5, 4, 1, 5))
FALSE = {"twins": twins, "on a line": on_a_line, "the sum of two": sums}
FALSE_TABLES = {name: with_embeddings(ONE_HOT, change) for name, change in FALSE.items()}
ENOUGH = Family(
    WIDE,
    FALSE_TABLES,
    {
        "ntp.lemma1.both": lambda tables: sum(not both_hold(t) for t in tables),
        "ntp.prop1.limit": lambda tables: max(map(smallest_loss, tables)),
    },
)
NOT_ENOUGH = Family(
    FALSE_TABLES["on a line"],
    {
        "independent embeddings": WIDE,
        "one successor": ONE_HOT,
        "more dimensions": drawn("more", (5, 4, 2, 9)),
    },
    {"ntp.prop1.necessary": lambda tables: min(map(smallest_loss, tables))},
)
# m (S − 1) / (V − 1) = 12 · 2 / 4 = 6
COUNTED = drawn("counted", (12, 5, 3, 7), 8)
COUNT = Family(
    COUNTED,
    {
        "fewer dimensions": drawn("fewer", (12, 5, 3, 5), 8),
        "one support": [
            ContextTable(t.embeddings, np.sort(t.next_token, axis=1), t.weight) for t in COUNTED
        ],
        "on a line": with_embeddings(COUNTED, on_a_line),
    },
    {"ntp.eq4.count": compatible},
)


def clash(sign):
    rng = np.random.default_rng(5)
    labels = rng.integers(3, size=60)
    E = rng.standard_normal((60, 4))
    return ContextTable(E + sign * 9 * np.eye(3, 4)[labels], np.eye(3)[labels], np.full(60, 1 / 60))


def proved_part(table):
    proof = find_pair_certificate(table, most_frequent=3)
    return 1 - proof.radius / proof.weights.min() if proof else 0.0


PAIR = Family(
    clash(0.0),
    {
        "separated words": clash(1.0),
        "a planted decoder": planted_table(60, 8, 2, 9, np.random.default_rng(0)),
        "independent embeddings": ContextTable.random(5, 4, 1, 6, np.random.default_rng(0)),
    },
    {"large.text": proved_part},
)

TABLE = ContextTable.random(6, 5, 2, 7, np.random.default_rng(0))
TWO = ContextTable.random(6, 2, 1, 7, np.random.default_rng(0))


def false_decoders(W, table):
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(W.shape)
    return {
        "rounded": W.round(1),
        "disturbed": W + 1e-3 * noise,
        "with a part in F": W + 0.01 * project_onto_F(table, noise),
        "longer": 1.01 * W,
        "words exchanged": W[::-1],
    }


def away(from_, W):
    return np.linalg.norm(W - from_) / np.linalg.norm(from_)


def family_of_decoder(table, claims):
    W = solve_ntp_svm(table, tol=1e-12).weights
    return Family(W, false_decoders(W, table), claims)


def of_binary(table):
    signed = table.embeddings * (1 - 2 * table.next_token[:, [1]])
    stacked = np.vstack([signed.T, np.ones(len(signed))])
    last = np.eye(len(stacked))[-1]
    rest = last - stacked @ nnls(stacked, last)[0]
    half = -rest[:-1] / rest[-1] / 2
    return np.stack([half, -half])


SVM = family_of_decoder(
    TABLE,
    {
        "ntp.def3.routes": partial(away, solve_ntp_svm(TABLE, method="cvxpy").weights),
        "ntp.def3.orthogonal": lambda W: (
            np.linalg.norm(project_onto_F(TABLE, W)) / np.linalg.norm(W)
        ),
    },
)
BINARY = family_of_decoder(TWO, {"ntp.remark1.binary": partial(away, of_binary(TWO))})


def sum_of_norms(W):
    inside = project_onto_F(TABLE, W)
    return (np.linalg.norm(inside) + np.linalg.norm(W - inside)) / np.linalg.norm(W)


ANY = np.random.default_rng(3).standard_normal((5, 7))
PARTS = Family(
    ANY,
    {
        "in F": project_onto_F(TABLE, ANY),
        "orthogonal to F": ANY - project_onto_F(TABLE, ANY),
        "of the SVM": SVM.truth,
    },
    {"ntp.lemma44.printed": sum_of_norms},
)


def finite_part(table):
    return check_compatibility(table).finite_part


def of_supports(table):
    return (np.linalg.pinv(table.embeddings) @ table.support.toarray()).T


def change_by_probabilities(decoder):
    p = table_of(TABLE.embeddings, TABLE.next_token > 0, np.random.default_rng(4)).next_token
    return away(decoder(TABLE), decoder(ContextTable(TABLE.embeddings, p, TABLE.weight)))


PROBABILITIES = Family(
    finite_part,
    {
        "the SVM": lambda table: solve_ntp_svm(table, tol=1e-12).weights,
        "what knows supports only": of_supports,
        "a tenth of the finite part": lambda table: of_supports(table) + finite_part(table) / 99,
    },
    {"ntp.def3.finite-moves": change_by_probabilities},
)
PLANE, SOLVED = widest_margin(planar_tables(30, np.random.default_rng(0)))
STAR = finite_part(PLANE)
WORDS = Family(
    STAR,
    {
        "the SVM": SOLVED.weights,
        "what knows supports only": of_supports(PLANE),
        "words 1 and 5 averaged": (STAR + STAR[[4, 1, 2, 3, 0]]) / 2,
    },
    {"ntp.fig2.differ": lambda W: np.linalg.norm(W[0] - W[4]) / np.linalg.norm(W)},
)

RNG = np.random.default_rng(6)
TOKENS = RNG.choice(5, size=600, p=[0.4, 0.3, 0.15, 0.1, 0.05])
LENGTHS = range(1, 5)
WINDOWS = count_contexts(TOKENS, 5, LENGTHS)
CIRCULAR = count_prefixes(np.stack([np.roll(TOKENS, -k) for k in range(5)], axis=1), 5)[1:]
CUT = count_prefixes(TOKENS.reshape(-1, 5), 5)[1:]


def of_each_length(tokens_of):
    return [count_contexts(tokens_of(t), 5, [t])[0] for t in LENGTHS]


FALSE_COUNTS = {
    "backwards": WINDOWS[::-1],
    "less text for longer contexts": of_each_length(lambda t: TOKENS[: (600, 7, 6, 6)[t - 1]]),
    "fewer words for longer contexts": of_each_length(lambda t: TOKENS % (5, 2, 1, 1)[t - 1]),
}
FALSE_FLOORS = {
    "backwards": WINDOWS[::-1],
    "more words for longer contexts": of_each_length(lambda t: TOKENS % t),
    "prefixes that begin alike": count_prefixes(np.array([[0, 1, 2], [0, 1, 3]]), 4)[1:],
}


def numbers(counts):
    return [c.num_contexts for c in counts]


def floors(counts):
    return [c.entropy for c in counts]


COUNTS = [
    Family(
        WINDOWS, FALSE_COUNTS, {"ntp.appc.contexts": numbers, "ntp.appc.contexts-printed": numbers}
    ),
    Family(WINDOWS, FALSE_FLOORS, {"ntp.appc.floor": floors}),
    Family(
        FALSE_FLOORS["prefixes that begin alike"],
        {"windows": WINDOWS, "windows of a circle": CIRCULAR, "a text cut into pieces": CUT},
        {"ntp.appc.floor-prefixes": floors},
    ),
]


def stored(name, experiment):
    rows = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))["results"]
    return [(row["parameters"], experiment.Result.from_json(row["result"])) for row in rows]


LOSSES = np.array(stored("large_descent_full", large_descent)[0][1].losses)
LARGE = Family(
    LOSSES,
    {
        "backwards": LOSSES[::-1],
        "stalled": np.r_[LOSSES[:5], LOSSES[4]],
        "one rise": np.r_[LOSSES[:3], LOSSES[1], LOSSES[4:]],
    },
    {"large.descent.full": np.asarray},
)

AT_PAPER = {"beta1": 0.9, "beta2": 0.99, "rate": "constant"}
RUNS = [run for plan, run in stored("adam_limit", adam_limit) if plan["adam"] == AT_PAPER]
ADAM, GD = (
    1 - np.array([getattr(run, f"growth_{name}") for run in RUNS])
    for name in ("predicted", "control")
)
NEAR = Family(
    (ADAM, GD),
    {
        "as near": (GD, GD),
        "a tenth farther": (1.1 * GD, GD),
        "as near on average": (GD * np.array([0.5, 2.0] * 4), GD),
    },
    {"ntp.appa.adam-control": lambda pair: np.log(pair[0] / pair[1]).mean()},
)
FAMILIES = [
    *(ENOUGH, NOT_ENOUGH, COUNT, PAIR, SVM, BINARY, PARTS, PROBABILITIES, WORDS),
    *COUNTS,
    *(LARGE, NEAR),
]
