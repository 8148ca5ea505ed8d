import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from ntpcompanion import plots
from ntpcompanion.planning import PathStar, draw_graphs


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_every_node_and_edge_is_drawn_where_the_goal_is_filled(arms, ax, rng):
    task = PathStar(arms, 4, 20)
    graphs = draw_graphs(task, 2, rng)
    plots.draw_path_star(ax, graphs, 1)
    nodes = [text for text in ax.texts if text.get_text()]
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
    drawn = {int(text.get_text()): text for text in nodes}
    labels = {int(graphs.root[1]), *graphs.branches[1].ravel().tolist()}
    assert set(drawn) == labels
    assert len(arrows) == task.edges
    at = {label: text.get_position() for label, text in drawn.items()}
    ends = {(arrow.xyann, arrow.xy) for arrow in arrows}
    assert ends == {(at[a], at[b]) for a, b in graphs.edges[1].tolist()}
    filled = [v for v, text in drawn.items() if text.get_bbox_patch().get_facecolor()[3]]
    assert filled == [graphs.branches[1, 0, -1]]
    widths = [arrow.arrow_patch.get_linewidth() for arrow in arrows]
    assert widths.count(2.5) == 1
    thick = arrows[int(np.argmax(widths))]
    assert thick.xy == at[int(graphs.branches[1, 0, 0])]


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("graphs", "row", "words"),
    [("graphs", 0, "`graphs`"), (None, 2, "`row`"), (None, -1, "`row`")],
)
def test_wrong_arguments_are_named(graphs, row, words, ax, rng):
    with pytest.raises(ValueError, match=words):
        plots.draw_path_star(ax, graphs or draw_graphs(PathStar(2, 4, 8), 2, rng), row)


COURSES = pd.DataFrame(
    [
        (seed, step, node, 0.1 * node + step)
        for seed in (3, 4)
        for step in (0, 1)
        for node in (0, 1, 2)
    ],
    columns=["seed", "step", "node", "accuracy"],
)


TITLES = {"next_token": "root to goal", "reversed": "goal to root"}


@pytest.fixture
def panels():
    figure, panels = plots.figure(2)
    yield panels
    plt.close(figure)


def test_a_course_is_a_line_for_each_run_and_node_in_the_panel_of_its_objective(panels):
    other = COURSES[COURSES.seed == 3].assign(objective="reversed")
    courses = pd.concat([COURSES.assign(objective="next_token"), other])
    plots.draw_courses(panels, courses, TITLES, chance=0.5)
    *runs, chance = panels[0].lines
    drawn = sorted((line.get_color(), *line.get_ydata().tolist()) for line in runs)
    expected = [(plots.MEASUREMENT, 0.1, 1.1)] * 2 + [(plots.CONTRAST, 0.2, 1.2)] * 2
    assert drawn == sorted(expected)
    assert chance.get_ydata() == [0.5, 0.5]
    assert len(panels[1].lines) == 3
    assert [ax.get_title() or ax.get_title("left") for ax in panels] == [*TITLES.values()]
    assert not panels[0].texts
    named = [(text.get_text(), text.get_color()) for text in panels[1].texts]
    assert named == [("first node", plots.MEASUREMENT), ("second node", plots.CONTRAST)]


@pytest.mark.parametrize(
    ("courses", "titles", "chance", "words"),
    [
        (COURSES.drop(columns="node"), {3: "", 4: ""}, 0.5, "`courses` has no column 'node'"),
        (COURSES.iloc[:0], {3: "", 4: ""}, 0.5, "`courses` must have at least one row"),
        (COURSES.astype({"accuracy": str}), {3: "", 4: ""}, 0.5, "`courses` must hold numbers"),
        (COURSES, {3: "", 4: ""}, 1.5, "`chance` must lie between 0 and 1"),
        (COURSES, {3: "", 5: ""}, 0.5, r"`titles` has \{5\}, which no run has as its `seed`"),
        (COURSES, {3: ""}, 0.5, "`panels` must be one for each of `titles`"),
    ],
)
def test_courses_that_cannot_be_drawn_are_refused(courses, titles, chance, words, panels):
    with pytest.raises(ValueError, match=words):
        plots.draw_courses(panels, courses, titles, chance=chance, by="seed")
    assert not panels[0].lines


RUNS = pd.DataFrame(
    [(3, 0.0, 1, True), (3, 0.0, 0, False), (3, 0.1, 0, True), (5, 0.1, 0, False)],
    columns=["length", "others", "seed", "solved"],
)


def test_a_run_is_a_dot_in_the_cell_of_its_length_and_weight_filled_if_it_succeeds(ax):
    plots.draw_success_map(ax, RUNS)
    dots = {True: [], False: []}
    for drawn in ax.collections:
        dots[len(drawn.get_facecolor()) > 0] += drawn.get_offsets().tolist()
    # columns 0 and 0.1, rows 3 and 5; of two seeds in a cell the second stands right of the first
    assert [(round(x), y) for x, y in dots[True]] == [(0, 0), (1, 0)]
    assert [(round(x), y) for x, y in dots[False]] == [(0, 0), (1, 1)]
    assert dots[False][0][0] < dots[True][0][0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "0.1"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["3", "5"]


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (RUNS.drop(columns="others"), "`runs` has no column 'others'"),
        (RUNS.iloc[:0], "`runs` must have at least one row"),
        (RUNS.astype({"solved": int}), "`runs.solved` must be True or False, got 1"),
        (RUNS.astype({"length": str}), "`runs` must hold numbers in its column 'length'"),
    ],
)
def test_runs_that_make_no_map_are_refused(runs, words, ax):
    with pytest.raises(ValueError, match=words):
        plots.draw_success_map(ax, runs)
    assert not ax.collections
