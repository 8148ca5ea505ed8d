"""Tables on which separability is decided by all kinds of accidents."""

import numpy as np
from hypothesis import strategies as st

from ntpcompanion.linear.tables.contexts import ContextTable

SCALES = (1e-3, 1e-2, 1.0, 10.0, 1e3)


@st.composite
def degenerate_tables(draw: st.DrawFn) -> ContextTable:
    """Small tables: one context, one dimension, one-hot and full supports, all kinds of
    embeddings.
    """
    m, d, V = draw(st.integers(1, 7)), draw(st.integers(1, 6)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    density = draw(st.sampled_from([0.0, 0.1, 0.4, 0.7, 0.95]))
    support = rng.random((m, V)) < density
    support[np.arange(m), rng.integers(V, size=m)] = True
    support[0, 0], support[0, -1] = True, False  # some token outside some support
    return table(
        _embeddings(
            draw(st.sampled_from(["normal", "integer", "repeated", "rank one", "scaled"])),
            m,
            d,
            rng,
        ),
        support,
        rng,
    )


def _embeddings(kind: str, m: int, d: int, rng: np.random.Generator) -> np.ndarray:
    integers = rng.integers(-2, 3, (m, d)).astype(float)
    return {
        "normal": lambda: rng.standard_normal((m, d)),
        "integer": lambda: integers,
        "repeated": lambda: integers[rng.integers(m, size=m)],
        "rank one": lambda: np.outer(integers[:, 0], rng.integers(-2, 3, d)).astype(float),
        "scaled": lambda: integers * rng.choice(SCALES, (m, 1)),
    }[kind]()


def table(
    embeddings: object, support: object, rng: np.random.Generator | None = None
) -> ContextTable:
    """Equal frequencies; distributions uniform on the supports, or random."""
    support = np.asarray(support, dtype=float)
    distributions = support if rng is None else support * (0.1 + rng.random(support.shape))
    m = len(support)
    return ContextTable(
        np.asarray(embeddings, dtype=float),
        distributions / distributions.sum(axis=1, keepdims=True),
        np.full(m, 1 / m),
    )
