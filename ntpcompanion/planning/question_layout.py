"""Questions about path-star graphs, read from their tokens alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from ntpcompanion.checks import checked
from ntpcompanion.planning.path_star_task import PathStar
from ntpcompanion.validation import as_integer_array


@checked
def read_graphs(task: PathStar, prefix: Int[np.ndarray, "n {task.prefix_length}"]) -> "ReadGraphs":
    """What questions say, read from their tokens alone.

    Parameters
    ----------
    task
        topology and format.
    prefix
        (n, `task.prefix_length`) tokens.

    Returns
    -------
    ReadGraphs
        edges, root and goal.

    Raises
    ------
    ValueError
        another length, or tokens that are not a question of this format.

    Notes
    -----
    Cost O(n (edges + N)).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.planning import PathStar, read_graphs
    >>> task = PathStar(arms=2, length=3, labels=6)
    >>> question = np.array([[1, 4, 2, 5, 3, 2, 3, 1, 8, 3, 5, 7]])
    >>> graph = read_graphs(task, question)
    >>> graph.parent[0].tolist()  # of each label; the root has none
    [-1, 3, 3, -1, 1, 2]
    """
    tokens = as_integer_array("prefix", prefix)
    layout = question_layout(task)
    query = tokens[:, layout.query]
    edges = np.stack([tokens[:, layout.parents], tokens[:, layout.children]], 2)
    signs: list[tuple[Any, str]] = [
        (layout.slash, "/"),
        (layout.end, "="),
        (layout.separators, "|"),
    ]
    is_label = max(query.max(), edges.max()) < task.labels and tokens.min() >= 0
    if not is_label or any(
        (tokens[:, columns] != task.symbol(text)).any() for columns, text in signs
    ):
        raise ValueError(
            f"`prefix` holds a row that is not a question of {task}. Use `draw_graphs(...).prefix`."
        )
    return ReadGraphs(task, edges, query[:, 0], query[:, 1])


@dataclass(frozen=True, eq=False)
class QuestionLayout:
    """The columns of a question: the `query` of root and goal, `parents` and `children`, the two
    ends of each edge, and the symbols "/" (`slash`), "=" (`end`) and "|" (`separators`).
    """

    query: slice
    parents: Int[np.ndarray, " edges"]
    children: Int[np.ndarray, " edges"]
    slash: int
    end: int
    separators: Int[np.ndarray, " between"]


def question_layout(task: PathStar) -> QuestionLayout:
    """Where the questions of a task have their parts."""
    listed = task.prefix_length - 4  # columns of the list of edges
    start, query, slash = (3, 0, 2) if task.query == "first" else (0, listed + 1, listed)
    step = 3 if task.separators else 2
    parents = start + step * np.arange(task.edges)
    return QuestionLayout(
        query=slice(query, query + 2),
        parents=parents,
        children=parents + 1,
        slash=slash,
        end=task.prefix_length - 1,
        separators=parents[:-1] + 2 if task.separators else parents[:0],
    )


@dataclass(frozen=True, eq=False)
class ReadGraphs:
    """Graphs as their questions give them: which arm is the right one is not said.

    Fields
    ------
    task
        topology and format.
    edges
        (n, edges, 2) parents and children in the order of the list.
    root, goal
        (n,) labels.
    """

    task: PathStar
    edges: Int[np.ndarray, "n edges 2"]
    root: Int[np.ndarray, " n"]
    goal: Int[np.ndarray, " n"]

    @property
    def parent(self) -> Int[np.ndarray, "n labels"]:
        """Of each label, −1 where there is none."""
        return self._link(child=1)

    @property
    def child(self) -> Int[np.ndarray, "n labels"]:
        """The only one of each label but the root; of the root the last that is listed."""
        return self._link(child=0)

    def _link(self, child: int) -> np.ndarray:
        table = np.full((len(self.root), self.task.labels), -1)
        np.put_along_axis(table, self.edges[:, :, child], self.edges[:, :, 1 - child], 1)
        return table

    @property
    def first_nodes(self) -> Int[np.ndarray, "n d"]:
        """The children of the root, in the order of the list. Raises ValueError where a root has
        not as many as the task has arms.
        """
        rows, positions = np.nonzero(self.edges[:, :, 0] == self.root[:, None])
        if len(positions) != len(self.root) * self.task.arms:
            raise ValueError(
                f"`prefix` holds a graph whose root has not {self.task.arms} children, the `arms` "
                "of the task."
            )
        return self.edges[rows, positions, 1].reshape(len(self.root), self.task.arms)
