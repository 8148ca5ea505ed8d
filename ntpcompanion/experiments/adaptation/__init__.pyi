from . import margin_attributes as margin_attributes
from . import adjusted_classes as adjusted_classes
from . import group_components as group_components

__all__ = ["margin_attributes", "adjusted_classes", "group_components"]
