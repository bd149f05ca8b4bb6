"""Kernels of the field family."""
