from . import flow_limits as flow_limits
from . import least_norm as least_norm

__all__ = ["flow_limits", "least_norm"]
