import numpy as np
import pytest
import torch

from ntpcompanion.attention import solve_w_svm
from ntpcompanion.experiments.attention import attention_directions
from ntpcompanion.experiments.attention.attention_directions import LEVEL
from ntpcompanion.experiments.attention.planted_sets import draw_sets
from tests.experiments.cases import small_run

RIGHT = {"data_sets": 5, "gd_steps": 300, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(attention_directions, RIGHT, long=True)


@pytest.mark.parametrize("method", ["GD", "normalized GD"])
def test_the_path_is_that_of_automatic_differentiation(found, method):
    drawn = draw_sets(0, 1, dim=50).drawn[0]
    target = solve_w_svm(drawn.sequences, drawn.best).weights
    parts = (drawn.sequences.tokens, drawn.sequences.queries, drawn.sequences.labels, drawn.decoder)
    X, q, y, u = map(torch.tensor, parts)
    W = torch.zeros(50, 50, dtype=float, requires_grad=True)
    for _ in range(30):
        attention = torch.softmax(torch.einsum("ntd,dk,nk->nt", X, W, q), dim=1)
        loss = torch.log1p(torch.exp(-y * torch.einsum("nt,ntd,d->n", attention, X, u))).mean()
        (gradient,) = torch.autograd.grad(loss, W)
        step = gradient if method == "GD" else 0.1 * gradient / gradient.norm()
        W = (W - step).detach().requires_grad_()
    end = W.detach().numpy()
    table = found.path_table
    row = table[(table.method == method) & (table.step == 30)].iloc[0]
    unit, aim = (matrix / np.linalg.norm(matrix) for matrix in (end, target))
    assert row.norm == pytest.approx(np.linalg.norm(end))
    assert row.error == pytest.approx(np.linalg.norm(unit - aim))


def test_rates_are_those_of_the_path(found):
    table, rates = found.path_table.set_index("method"), found.rates_table
    gd = table.loc["GD"]
    assert rates.end[0] == gd.error.iloc[-1]
    assert rates.change[0] == gd.error.iloc[-1] - gd.error[gd.step <= 30].iloc[-1]
    polyak = table.loc["Polyak"]
    assert 10 ** rates.polyak_steps[0] == pytest.approx(polyak.step[polyak.error < LEVEL].iloc[0])
    assert found.speedup("ngd_steps").mean == (rates.gd_steps - rates.ngd_steps).mean()
    assert found.mean("sparse_rate").mean == pytest.approx(1, abs=0.1)
    assert found.offset.mean == pytest.approx(1, abs=0.05)
    assert found.elsewhere_table.loc[2000].max() < 1e-10
