from . import pruned_finetuning as pruned_finetuning

__all__ = ["pruned_finetuning"]
