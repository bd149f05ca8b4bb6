"""Kernels of the warp family."""
