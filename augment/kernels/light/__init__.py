"""Kernels of the light family."""
