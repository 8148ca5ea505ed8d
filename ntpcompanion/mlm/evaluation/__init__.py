"""How far a model is from the exact conditionals, and what it offers as features."""
