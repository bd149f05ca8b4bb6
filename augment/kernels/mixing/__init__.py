"""Kernels of the mixing family."""
