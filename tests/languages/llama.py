"""A small Llama whose weights are all random, and none of whose norms adds anything to a mean."""

import torch

from ntpcompanion.languages.pretrained.needed import needed
from tests.languages.opt import scrambled


def small_llama(**changes):
    sizes = {
        "vocab_size": 7,
        "hidden_size": 8,
        "intermediate_size": 6,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 4,
        "rms_norm_eps": 0.0,
        "tie_word_embeddings": True,
        "max_position_embeddings": 16,
    }
    transformers = needed("transformers")
    return scrambled(transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes | changes)))


def texts(count, length=4, words=7, seed=0):
    draws = torch.Generator().manual_seed(seed)
    return torch.randint(words, (count, length), generator=draws)
