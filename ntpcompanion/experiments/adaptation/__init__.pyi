from . import margin_attributes as margin_attributes
from . import adjusted_classes as adjusted_classes

__all__ = ["margin_attributes", "adjusted_classes"]
