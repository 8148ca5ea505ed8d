from . import both_verdicts as both_verdicts
from . import flow_limits as flow_limits
from . import least_norm as least_norm
from . import small_limits as small_limits

__all__ = ["both_verdicts", "flow_limits", "least_norm", "small_limits"]
