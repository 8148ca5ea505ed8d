"""The figure in which SGD is simulated: its mathematics against the package's, and what a reader
does with it.
"""

import itertools
import math

import pytest
import torch
from playwright.sync_api import expect

from ntpcompanion.flatness import follow_ode, follow_sgd, full_hessian, mean_and_error, toy_models
from ntpcompanion.randomness import stream
from tests.widgets.shown import shown_widget, state

P, A = 0.8, 2.0
MODEL = f"ntpWidgets.valley.model({P})"
SIMULATED = """([rate, batch, steps, runs, seed, start]) => {
    const { ensemble, summary } = ntpWidgets.valley;
    const all = ensemble(0.8, start, rate, batch, runs, seed);
    all.advance(steps);
    return summary(0.8, start, all);
}"""


@pytest.fixture(scope="module")
def valley():
    return shown_widget("sgd_flatness", "valley", p=P, a0=A)


@pytest.fixture(scope="module")
def toy():
    return toy_models.bernoulli(P, A)


def test_gradient_excess_and_trace_are_those_of_the_package(valley, toy, opened, rng):
    thetas = torch.tensor(rng.uniform(-2.5, 2.5, (20, 2)))
    slopes = torch.func.vmap(torch.func.grad(toy.model.loss))(thetas)
    traces = [float(full_hessian(toy.model.loss, theta).trace()) for theta in thetas]
    # off the floor the Hessian has a second part, with no trace: the trace is that of the first
    with opened(valley) as page:
        found = page.evaluate(
            f"thetas => thetas.map(theta => [{MODEL}.gradient(theta), {MODEL}.excess(theta), "
            f"{MODEL}.trace(theta)])",
            thetas.tolist(),
        )
    gradients, excess, trace = zip(*found, strict=True)
    assert torch.allclose(torch.tensor(gradients, dtype=torch.float64), slopes, rtol=1e-9, atol=0)
    assert excess == pytest.approx(toy.model.excess(thetas).tolist(), rel=1e-9)
    assert trace == pytest.approx(traces, rel=1e-9)


def test_the_flow_is_that_of_the_package(valley, toy, opened):
    for batch in (1, 8):
        path = follow_ode(toy.model, toy.start, 12.0, batch_size=batch, points=5)
        with opened(valley) as page:
            found = page.evaluate(
                f"([start, times]) => times.map(t => {MODEL}.flow(start, t, {batch}))",
                [toy.start.tolist(), path.times.tolist()],
            )
        ours = torch.tensor(found, dtype=torch.float64)
        assert torch.allclose(ours, path.thetas, rtol=1e-9, atol=0)


def test_walls_are_where_the_excess_loss_has_its_level(valley, toy, opened):
    with opened(valley) as page:
        walls = page.evaluate(f"[0.1, 0.005].map({MODEL}.walls)")
    for level, logits in zip((0.1, 0.005), walls, strict=True):
        thetas = torch.tensor([[1.0, logit] for logit in logits], dtype=torch.float64)
        assert toy.model.excess(thetas).tolist() == pytest.approx([level] * 2, rel=1e-9)
        assert logits[0] < math.log(4) < logits[1]


@pytest.mark.parametrize(("rate", "batch"), [(0.2, 1), (0.4, 4), (1.6, 2)])
def test_runs_have_the_distribution_of_the_package(valley, toy, opened, rate, batch):
    steps, runs = round(12 / rate**2), 1000
    path = follow_sgd(
        toy.model, toy.start, rate, steps, batch, runs, stream(0, "runs"), snapshots=2
    )
    goal = follow_ode(toy.model, toy.start, rate**2 * steps, batch_size=batch, points=2).thetas[1]
    way = goal - toy.start
    ours = mean_and_error((path.thetas[-1] - toy.start) @ way / (way @ way))
    normal = goal.flip(0) / goal.norm()
    across = mean_and_error(((path.thetas[-1] - goal) @ normal).square())
    with opened(valley) as page:
        found = page.evaluate(SIMULATED, [rate, batch, steps, runs, 3, toy.start.tolist()])
    assert found["t"] == pytest.approx(rate**2 * steps)
    for value, error, (mean, stderr) in (
        (*found["fraction"], ours),
        (*found["imbalance"], mean_and_error(toy_models.imbalance(path.thetas[-1]))),
        (found["across"] ** 2, float(across[1]), across),
    ):
        assert abs(value - mean) < 4 * math.hypot(error, stderr)
        assert error == pytest.approx(float(stderr), rel=0.2)


def test_labels_of_a_batch_have_the_binomial_distribution(valley, opened):
    with opened(valley) as page:
        table = page.evaluate(f"ntpWidgets.valley.cumulative(4, {P})")
        drawn = page.evaluate(
            "() => { const next = ntpWidgets.valley.generator(5);"
            "return Array.from({ length: 20000 }, next); }"
        )
    exact = [math.comb(4, k) * P**k * (1 - P) ** (4 - k) for k in range(5)]
    assert table == pytest.approx([sum(exact[: k + 1]) for k in range(5)], rel=1e-12)
    uniform = torch.tensor(drawn, dtype=torch.float64)
    assert 0 <= uniform.min() < uniform.max() < 1
    for power in (1, 2, 3):  # of a uniform number: 1 / (power + 1)
        mean, error = mean_and_error(uniform**power)
        assert abs(mean - 1 / (power + 1)) < 4 * error
    neighbours, error = mean_and_error((uniform[1:] - 0.5) * (uniform[:-1] - 0.5))
    assert abs(neighbours) < 4 * error


def test_a_reader_without_a_mouse_runs_steps_and_repeats(valley, opened):
    with opened(valley) as page:
        shown = state(page)
        assert shown["rate"] == pytest.approx(0.2)
        assert shown["steps"] == 300
        assert "300 steps of η = 0.2" in page.locator(".ntp-says").text_content()
        page.get_by_role("slider", name="learning rate").focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        assert (state(page)["rate"], state(page)["batch"]) == (pytest.approx(0.4), 2)
        page.get_by_role("button", name="Other draws").press("Enter")
        assert state(page)["seed"] == 2
        page.get_by_role("button", name="Reset").press("Enter")
        assert state(page) == shown
        page.get_by_role("button", name="Step").press("Enter")
        assert state(page)["steps"] == 0
        assert "start in the valley" in page.locator(".ntp-says").text_content()
        page.get_by_role("button", name="Step").press("Enter")
        assert 0 < state(page)["steps"] < 300
        run = page.get_by_role("button", name="Run")
        run.press("Enter")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        page.wait_for_function("!document.querySelector('.ntp-widget').ntpState.running")
        assert state(page) == shown


def test_nothing_moves_by_itself_where_motion_is_unwanted(valley, opened):
    with opened(valley, reduced_motion="reduce") as page:
        page.get_by_role("button", name="Step").press("Enter")
        page.get_by_role("button", name="Run").press("Enter")
        assert (state(page)["steps"], state(page)["running"]) == (300, False)


@pytest.mark.parametrize("width", [320, 800])
def test_an_upright_axis_can_be_read_off(valley, opened, width):
    """It has two ticks or more, whose labels do not touch."""
    with opened(valley, width=width) as page:
        plots = page.locator(".ntp-widget-live svg").all()
        assert len(plots) == 2
        for plot in plots:
            labels = plot.locator(".tick[text-anchor=end]").all()
            boxes = sorted((label.bounding_box() for label in labels), key=lambda box: box["y"])
            assert len(boxes) >= 2
            for above, below in itertools.pairwise(boxes):
                assert above["y"] + above["height"] <= below["y"]
