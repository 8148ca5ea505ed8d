from . import attention_directions as attention_directions
from . import attention_starts as attention_starts
from . import joint_training as joint_training
from . import attention_bridge as attention_bridge
