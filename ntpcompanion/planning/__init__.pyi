from .path_star_task import PathStar as PathStar
from .path_star_task import draw_graphs as draw_graphs
from .reading import read_graphs as read_graphs
from .pauses import PauseDecoder as PauseDecoder
from .pauses import append_pauses as append_pauses
from .pause_loss import insert_pauses as insert_pauses
from .pause_loss import pause_masked_loss as pause_masked_loss
from .oracles import follow_edges as follow_edges
from .oracles import plan_path as plan_path
from .oracles import look_back as look_back
from .oracles import cheat_loss as cheat_loss
from .scores import score_answers as score_answers
from .scores import decode_answers as decode_answers
from .scores import score_wrong_arm as score_wrong_arm
from .objectives import Objective as Objective
from .objectives import build_planner as build_planner
from .objectives import answer_logits as answer_logits
from .objectives import answer_loss as answer_loss
from .objectives import network_predictor as network_predictor
from .training import train_planner as train_planner

__all__ = [
    "PathStar",
    "draw_graphs",
    "read_graphs",
    "PauseDecoder",
    "append_pauses",
    "insert_pauses",
    "pause_masked_loss",
    "follow_edges",
    "plan_path",
    "look_back",
    "cheat_loss",
    "score_answers",
    "decode_answers",
    "score_wrong_arm",
    "Objective",
    "build_planner",
    "answer_logits",
    "answer_loss",
    "network_predictor",
    "train_planner",
]
