"""Kernels of the blur family."""
