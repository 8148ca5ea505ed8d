from . import adam_bias as adam_bias
from . import adam_limit as adam_limit
from . import adam_rate as adam_rate
from . import adam_weights as adam_weights
from . import minibatch_adam as minibatch_adam
from . import three_optimizers as three_optimizers
