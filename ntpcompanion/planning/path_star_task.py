"""Path-star graphs as tokens, and the path from the root to one leaf."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Int

from ntpcompanion.checks import Length, Range, Size, checked
from ntpcompanion.validation import check_choice

# Tokens after the labels, in this order.
SYMBOLS = ("|", "=", "/", "$")


@dataclass(frozen=True)
@checked
class PathStar:
    """Path-star graphs of one topology, and how they are written (Bachmann and Nagarajan 2024).

    One root, d disjoint arms, each of l nodes with the root. A question is the shuffled list of
    directed edges, the root and the goal, which is the leaf of a random arm. The answer is the path
    from root to goal.

    Fields
    ------
    arms
        how many, d.
    length
        l, nodes of a path: root and leaf count.
    labels
        N, nodes are labelled by different numbers below it.
    query
        whether root and goal stand after the edges ("last", as in the paper) or before them.
    separators
        whether edges are separated by a token, as in the paper.
    reversed
        whether the answer is written from the goal to the root.

    Raises
    ------
    ValueError
        fewer than two arms or two nodes, fewer labels than nodes, an unknown place of the query.

    Notes
    -----
    Tokens 0 … N − 1 are labels. The four after them are the separator of edges, the end of the
    question, the separator of edges and query, and the dummy that teacherless training feeds.

    Examples
    --------
    >>> from ntpcompanion.planning import PathStar
    >>> task = PathStar(arms=2, length=5, labels=50, separators=True)
    >>> task.nodes, task.edges, task.prefix_length
    (9, 8, 27)
    """

    arms: Annotated[int, Range(2)]
    length: Annotated[int, Range(2)]
    labels: Annotated[int, Range("arms * (length - 1) + 1", reason="(nodes of the graph)")]
    query: Literal["last", "first"] = "last"
    separators: bool = False
    reversed: bool = False

    @property
    def nodes(self) -> int:
        """Number of nodes, d (l − 1) + 1."""
        return self.edges + 1

    @property
    def edges(self) -> int:
        """Number of edges, d (l − 1)."""
        return self.arms * (self.length - 1)

    @property
    def vocabulary(self) -> int:
        """N + 4 tokens."""
        return self.labels + len(SYMBOLS)

    @property
    def prefix_length(self) -> int:
        """Tokens of a question."""
        return 2 * self.edges + (self.edges - 1 if self.separators else 0) + 4

    def symbol(self, text: str) -> int:
        """The token of one of the four symbols."""
        check_choice("text", text, SYMBOLS)
        return self.labels + SYMBOLS.index(text)

    @checked
    def text(
        self, tokens: Annotated[Int[np.ndarray, " length"], Range(0, "self.vocabulary - 1")]
    ) -> str:
        """Tokens as a reader writes them. Raises ValueError unless they are tokens."""
        words = [str(t) if t < self.labels else SYMBOLS[t - self.labels] for t in map(int, tokens)]
        return " ".join(words)


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs of one task, the first arm of each the one that leads to the goal.

    Fields
    ------
    task
        their topology and format.
    root
        (n,) labels.
    branches
        (n, d, l − 1) labels of the nodes of each arm after the root.
    order
        (n, edges): which edge stands at each position of the list; edges are counted arm by arm.
    """

    task: PathStar
    root: Int[np.ndarray, " n"]
    branches: Int[np.ndarray, "n d steps"]
    order: Int[np.ndarray, "n edges"]

    def __len__(self) -> int:
        return len(self.root)

    @property
    def edges(self) -> Int[np.ndarray, "n edges 2"]:
        """(parent, child), in the order of the list."""
        children = self.branches.reshape(len(self), -1)
        roots = np.broadcast_to(self.root[:, None, None], (len(self), self.task.arms, 1))
        parents = np.concatenate([roots, self.branches[:, :, :-1]], 2).reshape(len(self), -1)
        pairs = np.stack([parents, children], -1)
        return np.take_along_axis(pairs, self.order[:, :, None], 1)

    @property
    def prefix(self) -> Int[np.ndarray, "n prefix"]:
        """The questions as tokens."""
        task, n = self.task, len(self)
        listed = self.edges.reshape(n, task.edges, 2)
        if task.separators:
            bar = np.full((n, task.edges, 1), task.symbol("|"))
            listed = np.concatenate([listed, bar], 2)
        listed = listed.reshape(n, -1)[:, : task.prefix_length - 4]
        query = np.stack([self.root, self.branches[:, 0, -1]], 1)
        slash, end = (np.full((n, 1), task.symbol(text)) for text in "/=")
        parts = (listed, slash, query) if task.query == "last" else (query, slash, listed)
        return np.concatenate([*parts, end], 1)

    @property
    def answer(self) -> Int[np.ndarray, "n l"]:
        """The path to the goal as tokens, backwards where the task says so."""
        path = self.path(0)
        return np.ascontiguousarray(path[:, ::-1]) if self.task.reversed else path

    @checked
    def path(self, arm: Annotated[int, Range(0, "self.task.arms - 1")]) -> Int[np.ndarray, "n l"]:
        """The nodes of an arm, from the root to its leaf; arm 0 leads to the goal. Raises
        ValueError for what is not an arm.
        """
        return np.concatenate([self.root[:, None], self.branches[:, arm]], 1)

    @checked
    def take(
        self, rows: Annotated[Int[np.ndarray, " m"], Length(0), Range(0, "len(self) - 1")]
    ) -> "Graphs":
        """Some of the graphs. Raises ValueError for what is not a list of rows."""
        return Graphs(self.task, self.root[rows], self.branches[rows], self.order[rows])


@checked
def draw_graphs(task: PathStar, count: Size, rng: np.random.Generator) -> Graphs:
    """Random graphs: labels without replacement, edges in random order, a random arm the right one.

    Parameters
    ----------
    task
        topology and format.
    count
        how many, n.
    rng
        draws them. Equal topologies give equal graphs from equal generators, whatever the format.

    Returns
    -------
    Graphs
        n independent ones.

    Raises
    ------
    ValueError
        a count below 1, what is not a task or no generator.

    Notes
    -----
    Cost O(n N log N).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.planning import PathStar, draw_graphs
    >>> task = PathStar(arms=2, length=3, labels=6)
    >>> graph = draw_graphs(task, 1, np.random.default_rng(0))
    >>> task.text(graph.prefix[0]), task.text(graph.answer[0])
    ('3 0 3 2 2 1 0 4 / 3 1 =', '3 2 1')
    """
    labels = rng.random((count, task.labels)).argsort(1)[:, : task.nodes]
    order = rng.random((count, task.edges)).argsort(1)
    branches = labels[:, 1:].reshape(count, task.arms, task.length - 1)
    return Graphs(task, labels[:, 0], branches, order)
