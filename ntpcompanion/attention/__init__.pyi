from .planted_data import TokenSequences as TokenSequences
from .planted_data import plant_tokens as plant_tokens
from .planted_data import stack_sequences as stack_sequences
from .layer import attention_map as attention_map
from .layer import logit_gradient as logit_gradient
from .layer import plain_logit_gradient as plain_logit_gradient
from .layer import log_excess as log_excess
from .steps import descend_attention as descend_attention
from .wsvm import solve_w_svm as solve_w_svm
from .offset_vector import limiting_offset as limiting_offset
from .bridge import attend_to_vocabulary as attend_to_vocabulary
from .bridge import centred as centred
from .bridge import next_token_table as next_token_table
from .joint import train_jointly as train_jointly

__all__ = [
    "TokenSequences",
    "plant_tokens",
    "stack_sequences",
    "attention_map",
    "logit_gradient",
    "plain_logit_gradient",
    "log_excess",
    "descend_attention",
    "solve_w_svm",
    "limiting_offset",
    "attend_to_vocabulary",
    "centred",
    "next_token_table",
    "train_jointly",
]
