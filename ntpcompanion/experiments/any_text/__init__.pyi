from . import two_thresholds as two_thresholds
from . import text_floors as text_floors
from . import unreached_entropy as unreached_entropy
from . import unseen_successors as unseen_successors
