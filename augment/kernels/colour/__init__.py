"""Kernels of the colour family."""
