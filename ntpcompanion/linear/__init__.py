"""Next-token prediction with a linear decoder over fixed context embeddings (Thrampoulidis
2024).
"""
