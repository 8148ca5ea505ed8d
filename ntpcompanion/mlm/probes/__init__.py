"""Heads on frozen features, and fine-tuning."""
