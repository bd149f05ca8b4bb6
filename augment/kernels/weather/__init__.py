"""Kernels of the weather family."""
