"""Text notebooks: cells, parameters with their domains, and the profiles that set them."""
