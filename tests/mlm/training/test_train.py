import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from ntpcompanion.mlm.data.masked_sentences import MaskedBatch, batch_generator, draw_batch
from ntpcompanion.mlm.training.distributed import Processes
from ntpcompanion.mlm.training.train import Regularizer, masked_loss, train
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import LSTM, MIXED, SHORT, SMALL, TRANSFORMER, same


def final(model_plan, plan, language, **options):
    """The parameters after the last step."""
    *_, last = train(model_plan, plan, language, **options)
    return last.model.state_dict()


def close(first, second, atol):
    return all(torch.allclose(first[name], second[name], rtol=0, atol=atol) for name in first)


def training_batch(plan, language, positions, step, number=0):
    generator = batch_generator(plan.seed, "training", step * plan.micro_batches + number)
    return draw_batch(
        language, plan.batch_size // plan.micro_batches, positions, plan.mask_share, generator
    )


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_training_takes_the_steps_of_a_plain_loop(optimizer):
    plan = replace(SHORT, optimizer=optimizer, weight_decay=0.1, warmup=0.5, schedule="linear")
    language, model = SMALL.build(), build_model(TRANSFORMER, plan.seed)
    moments = {p: (torch.zeros_like(p), torch.zeros_like(p)) for p in model.parameters()}
    rates = [x * plan.learning_rate for x in (1 / 3, 2 / 3, 1, 1, 2 / 3, 1 / 3)]
    for step, rate in enumerate(rates):
        batch = training_batch(plan, language, 4, step)
        law = model(batch.tokens, batch.positions)[:, 0].log_softmax(1)
        gradients = torch.autograd.grad(
            -law[torch.arange(8), batch.targets[:, 0]].mean(), list(model.parameters())
        )
        for (name, p), g in zip(model.named_parameters(), gradients, strict=True):
            with torch.no_grad():
                if optimizer == "sgd":
                    p -= rate * g
                    continue
                if p.ndim == 2 and name != "places.weight":
                    p *= 1 - rate * 0.1
                m, v = moments[p]
                m.lerp_(g, 0.1)
                v.lerp_(g * g, 0.02)
                t = step + 1
                p -= rate * (m / (1 - 0.9**t)) / ((v / (1 - 0.98**t)).sqrt() + 1e-6)
    assert close(final(TRANSFORMER, plan, language), model.state_dict(), 1e-5)


@pytest.mark.parametrize(("share", "precision"), [(0.0, "float32"), (0.6, "float32")])
def test_the_loss_is_a_mean_over_sentences_of_means_over_masks(share, precision):
    plan, language = replace(SHORT, mask_share=share), MIXED.build()
    model = build_model(replace(TRANSFORMER, words=8), 0)
    batch = training_batch(plan, language, 4, 0)
    each = []
    for row in range(8):
        laws = model(batch.tokens[row : row + 1], batch.positions[row : row + 1])[0].log_softmax(1)
        own = [
            float(-laws[k, w].detach()) for k, w in enumerate(batch.targets[row].tolist()) if w >= 0
        ]
        each.append(sum(own) / len(own))
    assert float(masked_loss(model, batch, precision).detach()) == pytest.approx(
        sum(each) / 8, rel=1e-6
    )


def test_low_precision_computes_about_the_same_loss_and_keeps_its_parameters():
    language, plan = SMALL.build(), replace(SHORT, precision="bfloat16")
    model = build_model(TRANSFORMER, 0)
    batch = training_batch(plan, language, 4, 0)
    full, low = (
        float(masked_loss(model, batch, precision).detach())
        for precision in ("float32", "bfloat16")
    )
    assert low != full
    assert low == pytest.approx(full, rel=2**-8)
    assert {p.dtype for p in final(TRANSFORMER, plan, language).values()} == {torch.float32}


@pytest.mark.parametrize("model_plan", [TRANSFORMER, LSTM])
def test_micro_batches_give_the_gradient_of_the_batch(model_plan):
    plan, language = (
        replace(SHORT, steps=1, micro_batch=2, optimizer="sgd", warmup=0.0),
        SMALL.build(),
    )
    parts = [training_batch(plan, language, 4, 0, number) for number in range(4)]
    whole = MaskedBatch(
        *(
            torch.cat([getattr(part, name) for part in parts])
            for name in ("tokens", "positions", "targets")
        )
    )
    model = build_model(model_plan, plan.seed)
    F.cross_entropy(model(whole.tokens, whole.positions)[:, 0], whole.targets[:, 0]).backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= plan.learning_rate * p.grad
    assert close(final(model_plan, plan, language), model.state_dict(), 1e-7)


def test_states_come_at_the_stops_and_at_the_end():
    states = [
        (s.step, s.sentences, s.loss)
        for s in train(TRANSFORMER, SHORT, SMALL.build(), eval_steps=[0, 2, 5])
    ]
    assert [state[:2] for state in states] == [(0, 0), (2, 16), (5, 40), (6, 48)]
    assert states[0][2] != states[0][2]
    each = [s.loss for s in train(TRANSFORMER, SHORT, SMALL.build(), eval_steps=range(7))][1:]
    assert [loss for *_, loss in states[1:]] == pytest.approx(
        [sum(each[:2]) / 2, sum(each[2:5]) / 3, each[5]]
    )


def test_the_seed_decides_the_run_and_nothing_else_does():
    language = SMALL.build()
    first = final(TRANSFORMER, SHORT, language)
    torch.manual_seed(5)
    torch.rand(3)
    assert same(first, final(TRANSFORMER, SHORT, language))
    assert not same(first, final(TRANSFORMER, replace(SHORT, seed=1), language))


KILLED = """
import torch, sys
from pathlib import Path
from threading import Thread
from dataclasses import replace
from ntpcompanion.mlm.training.train import train
from tests.mlm.cases import LSTM, SHORT, SMALL, TRANSFORMER
torch.set_num_threads(1)
longer, folder = replace(SHORT, steps=4000), Path(sys.argv[1])
def run(plan):
    for state in train(
        plan, longer, SMALL.build(), checkpoint=folder / f"{plan.kind}.pt", save_every=10
    ):
        pass
for plan in (TRANSFORMER, LSTM):
    Thread(target=run, args=(plan,)).start()
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of what two runs have kept whose process was killed."""
    folder = tmp_path_factory.mktemp("killed")
    files = [folder / f"{plan.kind}.pt" for plan in (TRANSFORMER, LSTM)]
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)])
    deadline = time.monotonic() + 100
    while not all(file.exists() for file in files) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    return folder


@pytest.mark.parametrize("model_plan", [TRANSFORMER, LSTM])
def test_a_killed_run_ends_where_an_undisturbed_one_does(killed, model_plan):
    file = killed / f"{model_plan.kind}.pt"
    plan, language = replace(SHORT, steps=4000), SMALL.build()
    reached = torch.load(file, weights_only=True)["step"]
    assert 0 < reached < plan.steps
    # what follows is compared on the next steps only: the rate of each depends on the whole length
    # of the run
    ahead = reached + 20
    states = train(model_plan, plan, language, checkpoint=file, eval_steps=[ahead])
    resumed = next(states)
    undisturbed = next(train(model_plan, plan, language, eval_steps=[ahead]))
    assert resumed.step == undisturbed.step == ahead
    assert same(resumed.model.state_dict(), undisturbed.model.state_dict())
    # of all steps since the start, those before the kill included
    assert resumed.loss == undisturbed.loss


def test_a_run_that_had_ended_is_not_trained_again(tmp_path):
    file, language = tmp_path / "run.pt", SMALL.build()
    first = final(TRANSFORMER, SHORT, language, checkpoint=file)
    states = list(train(TRANSFORMER, SHORT, language, checkpoint=file, eval_steps=[0, 3]))
    assert [state.step for state in states] == [6]
    assert same(states[0].model.state_dict(), first)


def test_checkpoints_are_written_where_asked(tmp_path):
    file, seen = tmp_path / "run.pt", []
    for state in train(
        TRANSFORMER, SHORT, SMALL.build(), checkpoint=file, save_every=4, eval_steps=[1, 3, 5]
    ):
        saved = torch.load(file, weights_only=True)["step"] if file.exists() else None
        seen.append((state.step, saved))
    assert seen == [(1, None), (3, 1), (5, 4), (6, 5)]
    assert torch.load(file, weights_only=True)["step"] == 6


def test_what_does_not_fit_together_is_refused():
    language = SMALL.build()
    with pytest.raises(ValueError, match="`model_plan`"):
        final(replace(TRANSFORMER, words=9), SHORT, language)
    with pytest.raises(ValueError, match="the model has 3 `positions`"):
        final(replace(TRANSFORMER, positions=3), SHORT, language)


def test_a_loss_that_explodes_is_an_error_that_says_so():
    with pytest.raises(
        FloatingPointError,
        match=r"The training loss is (inf|nan) over the last 6 steps. Lower `learning_rate` = 1e",
    ):
        final(TRANSFORMER, replace(SHORT, learning_rate=1e30, optimizer="sgd"), SMALL.build())


def last(*arguments, **options):
    *_, state = train(*arguments, **options)
    return state


def squares(model, step):
    return (step + 1) * sum(p.square().sum() for p in model.parameters())


SQUARES = Regularizer(squares, 1e-3, "squares")


@pytest.mark.parametrize("model_plan", [TRANSFORMER, LSTM])
def test_a_term_of_weight_0_changes_no_step(model_plan):
    language = SMALL.build()
    normal = last(model_plan, SHORT, language)
    found = last(model_plan, SHORT, language, second=replace(SQUARES, weight=0.0))
    assert same(found.model.state_dict(), normal.model.state_dict())
    assert found.loss == normal.loss
    assert normal.term == 0 < found.term


def test_a_step_descends_the_weighted_sum_from_the_given_start():
    language, plan = SMALL.build(), replace(SHORT, steps=1, optimizer="sgd", warmup=0.0)
    model = build_model(TRANSFORMER, 9)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    loss = masked_loss(model, training_batch(plan, language, 4, 0, 0))
    (loss + 0.25 * squares(model, 0)).backward()
    second = replace(SQUARES, weight=0.25)
    found = last(TRANSFORMER, plan, language, start=start, second=second)
    for ours, p in zip(found.model.parameters(), model.parameters(), strict=True):
        assert torch.allclose(ours, p - plan.learning_rate * p.grad, rtol=0, atol=1e-7)
    assert found.loss == pytest.approx(float(loss.detach()), rel=1e-6)
    assert found.term == pytest.approx(float(squares(model, 0).detach()), rel=1e-5)


def test_a_killed_run_with_a_term_goes_on_and_one_of_another_term_is_refused(tmp_path):
    language, file = SMALL.build(), tmp_path / "run.pt"
    whole = last(TRANSFORMER, SHORT, language, second=SQUARES)
    states = train(
        TRANSFORMER, SHORT, language, second=SQUARES, checkpoint=file, save_every=2, eval_steps=[5]
    )
    assert next(states).step == 5
    states.close()  # killed at step 5: saved at 4
    resumed = last(TRANSFORMER, SHORT, language, second=SQUARES, checkpoint=file)
    assert same(resumed.model.state_dict(), whole.model.state_dict())
    assert (resumed.loss, resumed.term) == pytest.approx((whole.loss, whole.term), rel=1e-6)
    for other in (
        {"second": replace(SQUARES, weight=2e-3)},
        {"second": replace(SQUARES, identity="cubes")},
        {"second": SQUARES, "start": build_model(TRANSFORMER, 1).state_dict()},
    ):
        with pytest.raises(ValueError, match="checkpoint of another plan or language"):
            last(TRANSFORMER, SHORT, language, checkpoint=file, **other)


def test_a_start_that_does_not_fit_and_a_term_that_diverges_are_refused():
    language = SMALL.build()
    with pytest.raises(
        ValueError, match=r"`start` does not fit `model_plan`: .*size mismatch|Missing key"
    ):
        last(TRANSFORMER, SHORT, language, start=build_model(LSTM, 0).state_dict())
    fast = replace(SHORT, learning_rate=1e30, optimizer="sgd")
    message = r"The training loss is .* and the second term .* Lower `learning_rate` = .* `weight`"
    with pytest.raises(FloatingPointError, match=message):
        last(TRANSFORMER, fast, language, second=replace(SQUARES, weight=1.0))


def test_several_processes_take_no_second_term():
    plan = replace(SHORT, micro_batch=4)
    with pytest.raises(ValueError, match="`second`"):
        last(TRANSFORMER, plan, SMALL.build(), second=SQUARES, processes=Processes(0, 2))
