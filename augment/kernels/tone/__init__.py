"""Kernels of the tone family."""
