"""Where masked language models and curvature meet: the comparisons of Liu et al. 2023, sections 3
and 5.
"""
