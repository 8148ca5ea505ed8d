"""Context-free grammars with exact masked conditionals."""
