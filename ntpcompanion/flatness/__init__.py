"""Curvature of a loss at a point, and the drift of stochastic gradient descent along a valley of
minimizers (Liu et al. 2023).
"""
