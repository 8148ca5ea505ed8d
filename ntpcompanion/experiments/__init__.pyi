from .tasks import tasks_table as tasks_table
from .thresholds import text_crossing as text_crossing
from .thresholds import shuffled_text as shuffled_text
from .thresholds import phase as phase
from .thresholds import weighted_tokens as weighted_tokens
from .thresholds import text_threshold as text_threshold
from .thresholds import random_tables as random_tables
from .thresholds import unlike_tokens as unlike_tokens
from .any_text import two_thresholds as two_thresholds
from .any_text import text_floors as text_floors
from .any_text import unreached_entropy as unreached_entropy
from .any_text import unseen_successors as unseen_successors
from .adam import adam_bias as adam_bias
from .adam import adam_limit as adam_limit
from .adam import adam_rate as adam_rate
from .adam import adam_weights as adam_weights
from .adam import minibatch_adam as minibatch_adam
from .adam import three_optimizers as three_optimizers
from .decoders import both_verdicts as both_verdicts
from .decoders import descent_rates as descent_rates
from .decoders import flow_limits as flow_limits
from .decoders import held_out_contexts as held_out_contexts
from .decoders import least_norm as least_norm
from .decoders import own_margins as own_margins
from .decoders import planted_teachers as planted_teachers
from .decoders import smoothed_limits as smoothed_limits
from .decoders import stochastic_limits as stochastic_limits
from .decoders import small_limits as small_limits
from .decoders import word_directions as word_directions
from .geometry import geometry_text as geometry_text
from .geometry import geometry_transformer as geometry_transformer
from .languages import exact_conditionals as exact_conditionals
from .languages import text_contexts as text_contexts
from .same_loss import pretraining as pretraining
from .same_loss import downstream as downstream
from .same_loss import lookup_columns as lookup_columns
from .same_loss import penalized_traces as penalized_traces
from .same_loss import held_traces as held_traces
from .same_loss import equal_loss as equal_loss
from .same_loss import bottleneck_ranks as bottleneck_ranks
from .real_model import state_dimensions as state_dimensions
from .real_model import output_matrix as output_matrix
from .real_model import support_collapse as support_collapse
from .real_model import real_flatness as real_flatness
from .real_model import sampled_language as sampled_language
from .real_model import learned_language as learned_language
from .real_model import saturated_language as saturated_language
from .planning import pause_tokens as pause_tokens
from .planning import pause_width as pause_width
from .planning import path_star as path_star
from .planning import path_star_graph as path_star_graph
from .planning import path_star_orders as path_star_orders
from .planning import path_star_rules as path_star_rules
from .generalization import hyperspheres as hyperspheres
from .thresholds import least_width as least_width
from .scale import large_svm as large_svm
from .scale import large_descent as large_descent
from .scale import blocked_rounds as blocked_rounds
from .generalization import disagreement_mlp as disagreement_mlp
from .generalization import xor_steps as xor_steps
from .generalization import residual_risks as residual_risks
from .generalization import width_memorization as width_memorization
from .generalization import digit_memorization as digit_memorization
from .geometry import contrastive_starts as contrastive_starts
from .geometry import ridge_tables as ridge_tables
from .geometry import factor_starts as factor_starts
from .geometry import complete_supports as complete_supports
from .geometry import proxy_certificates as proxy_certificates
from .generalization import distilled_filters as distilled_filters
from .generalization import distilled_networks as distilled_networks
from .generalization import disagreement_bounds as disagreement_bounds
from .generalization import digits_disagreement as digits_disagreement
from .generalization import feature_strengths as feature_strengths
from .generalization import forest_explanations as forest_explanations
from .generalization import explanation_bounds as explanation_bounds
from .generalization import reversed_noise as reversed_noise
from .adaptation import margin_attributes as margin_attributes
from .adaptation import adjusted_classes as adjusted_classes
from .adaptation import group_components as group_components
from .adaptation import pruned_finetuning as pruned_finetuning
from .adaptation import fair_minilm as fair_minilm
from .adaptation import shifted_contents as shifted_contents
from .adaptation import pruned_transformer as pruned_transformer
from .adaptation import pruned_recall as pruned_recall
from .attention import attention_directions as attention_directions
from .attention import attention_starts as attention_starts
from .attention import joint_training as joint_training
from .attention import attention_bridge as attention_bridge
from .capacity import local_capacity as local_capacity
from .capacity import last_layer_widths as last_layer_widths
from .capacity.trained_widths import read_widths as read_widths
from .capacity.trained_widths import printed_points as printed_points
from .thresholds.crossing_limits import read_crossings as read_crossings
from .thresholds.text_predictions import read_texts as read_texts
from .flatness import flattest_neurons as flattest_neurons
from .flatness import bound_terms as bound_terms
from .flatness import feature_traces as feature_traces
from .flatness import head_samples as head_samples
from .flatness import bracket_descent as bracket_descent
from .flatness import noise_curvature as noise_curvature
from .flatness import drift_constant as drift_constant
from .flatness import valley_runs as valley_runs
from .flatness import sparse_valley as sparse_valley
from .flatness import trace_estimates as trace_estimates
from .flatness import transfer_paths as transfer_paths
from .flatness import adam_drift as adam_drift
from .flatness import enlarged_traces as enlarged_traces
from .flatness import network_traces as network_traces
from .same_loss.study_suite import SuitePlan as SuitePlan
from .same_loss.interventions import Continued as Continued
from .same_loss.interventions import Noise as Noise
from .same_loss.interventions import Adversarial as Adversarial
from .same_loss.interventions import Penalty as Penalty
from .same_loss.interventions import Rescaled as Rescaled
from .same_loss import study_table as study_table
from .experiment import table_of as table_of

__all__ = [
    "tasks_table",
    "text_crossing",
    "shuffled_text",
    "phase",
    "weighted_tokens",
    "text_threshold",
    "random_tables",
    "unlike_tokens",
    "two_thresholds",
    "text_floors",
    "unreached_entropy",
    "unseen_successors",
    "adam_bias",
    "adam_limit",
    "adam_rate",
    "adam_weights",
    "minibatch_adam",
    "three_optimizers",
    "both_verdicts",
    "descent_rates",
    "flow_limits",
    "held_out_contexts",
    "least_norm",
    "own_margins",
    "planted_teachers",
    "smoothed_limits",
    "stochastic_limits",
    "small_limits",
    "word_directions",
    "geometry_text",
    "geometry_transformer",
    "exact_conditionals",
    "text_contexts",
    "pretraining",
    "downstream",
    "lookup_columns",
    "penalized_traces",
    "held_traces",
    "equal_loss",
    "bottleneck_ranks",
    "state_dimensions",
    "output_matrix",
    "support_collapse",
    "real_flatness",
    "sampled_language",
    "learned_language",
    "saturated_language",
    "pause_tokens",
    "pause_width",
    "path_star",
    "path_star_graph",
    "path_star_orders",
    "path_star_rules",
    "hyperspheres",
    "least_width",
    "large_svm",
    "large_descent",
    "blocked_rounds",
    "disagreement_mlp",
    "xor_steps",
    "residual_risks",
    "width_memorization",
    "digit_memorization",
    "contrastive_starts",
    "ridge_tables",
    "factor_starts",
    "complete_supports",
    "proxy_certificates",
    "distilled_filters",
    "distilled_networks",
    "disagreement_bounds",
    "digits_disagreement",
    "feature_strengths",
    "forest_explanations",
    "explanation_bounds",
    "reversed_noise",
    "margin_attributes",
    "adjusted_classes",
    "group_components",
    "pruned_finetuning",
    "fair_minilm",
    "shifted_contents",
    "pruned_transformer",
    "pruned_recall",
    "attention_directions",
    "attention_starts",
    "joint_training",
    "attention_bridge",
    "local_capacity",
    "last_layer_widths",
    "read_widths",
    "printed_points",
    "read_crossings",
    "read_texts",
    "flattest_neurons",
    "bound_terms",
    "feature_traces",
    "head_samples",
    "bracket_descent",
    "noise_curvature",
    "drift_constant",
    "valley_runs",
    "sparse_valley",
    "trace_estimates",
    "transfer_paths",
    "adam_drift",
    "enlarged_traces",
    "network_traces",
    "SuitePlan",
    "Continued",
    "Noise",
    "Adversarial",
    "Penalty",
    "Rescaled",
    "study_table",
    "table_of",
]
