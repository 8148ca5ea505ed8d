"""A training step on one CPU thread against Hugging Face's BERT of the same shape; on a GPU, the
share of its matrix rate.
"""

import time

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from ntpcompanion.languages.pretrained import needed
from ntpcompanion.mlm.data import batch_generator, draw_batch
from ntpcompanion.mlm.named_plans import LANGUAGE_PLANS
from ntpcompanion.mlm.plan import TrainingPlan
from ntpcompanion.mlm.train import masked_loss, train
from ntpcompanion.networks.build import build_model
from ntpcompanion.networks.language_model import FIRST_WORD
from ntpcompanion.networks.plan import ModelPlan
from ntpcompanion.workflow.base.provenance import hardware, hardware_line
from tests.benchmarks.timing import seconds
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)

SHAPES = [(64, 1, 1), (64, 1, 2), (128, 2, 2), (128, 2, 4), (256, 4, 3)]  # width, heads, layers


@pytest.mark.benchmark
@pytest.mark.parametrize(("width", "heads", "layers"), SHAPES)
def test_a_step_is_faster_than_that_of_bert(width, heads, layers):
    """Same sentences with the same mask each, V = 200, 17 positions with CLS, batch 256, float32,
    no dropout, the same fused AdamW.
    """
    transformers = needed("transformers")
    plan = ModelPlan("transformer", width, layers, heads, 4 * width, words=200, positions=16)
    model = build_model(plan, 0)
    bert = transformers.BertForMaskedLM(
        transformers.BertConfig(
            vocab_size=203,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            max_position_embeddings=17,
        )
    ).train()
    batch = draw_batch(
        LANGUAGE_PLANS["hmm-100"].build(), 256, 16, 0.0, batch_generator(0, "training", 0)
    )
    tokens = torch.nn.functional.pad(batch.tokens + FIRST_WORD, (1, 0), value=202)
    labels = torch.full_like(tokens, -100).scatter(1, batch.at + 1, batch.targets + FIRST_WORD)
    losses = (lambda: masked_loss(model, batch), lambda: bert(input_ids=tokens, labels=labels).loss)

    def step(network, loss):
        optimizer = torch.optim.AdamW(network.parameters(), 1e-3, fused=True)

        def once():
            loss().backward()
            optimizer.step()
            optimizer.zero_grad()

        return once

    ours, theirs = seconds(step(model, losses[0]), step(bert, losses[1]), repeats=8)
    print(
        f"\n{width} wide, {layers} layers: {ours * 1000:.1f} ms, BertForMaskedLM "
        f"{theirs / ours:.2f} times; {hardware_line(hardware())}"
    )
    assert theirs >= 1.3 * ours


@pytest.mark.benchmark
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("width", [512, 1024])
def test_the_share_of_the_matrix_rate_of_a_gpu(width):
    """FLOPs of the matrix products of both passes, as torch counts them, over the rate of a large
    product.
    """
    spec, batch, steps = LANGUAGE_PLANS["hmm-100"], 2048, 30
    language = spec.build("cuda")
    plan = ModelPlan(
        "transformer", width, 8, width // 64, 4 * width, words=spec.words, positions=spec.length
    )
    model = build_model(plan, 0, "cuda")
    with FlopCounterMode(display=False) as counter:
        masked_loss(
            model,
            draw_batch(
                language, batch, spec.length, 0.0, batch_generator(0, "training", 0, "cuda")
            ),
        ).backward()
    training = TrainingPlan(2 * steps, batch, precision="bfloat16", compile=True)
    states = train(plan, training, language, device="cuda", stops=[steps])
    half, end = ((torch.cuda.synchronize(), s.seconds)[1] for s in states)
    rate = counter.get_total_flops() * steps / (end - half)
    share = rate / matrix_rate()
    drawn = data_share(language, spec.length, batch, (end - half) / steps)
    print(
        f"\nwidth {width}: {rate / 1e12:.0f} TFLOP/s, {share:.0%} of the measured bf16 rate; data "
        f"{drawn:.1%}; {hardware_line(hardware())}"
    )
    assert share >= 0.4
    assert drawn <= 0.05


def matrix_rate(n=8192, repeats=20):
    """FLOP/s of a bf16 product of two n × n matrices."""
    a = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
    a @ a
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(repeats):
        a @ a
    torch.cuda.synchronize()
    return repeats * 2 * n**3 / (time.perf_counter() - began)


def data_share(language, positions, batch, step_seconds, repeats=20):
    """Seconds of drawing a masked batch over those of a step."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    for number in range(repeats):
        draw_batch(language, batch, positions, 0.0, batch_generator(0, "training", number, "cuda"))
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / repeats / step_seconds
