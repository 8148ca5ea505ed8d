"""Language models that were trained elsewhere."""
