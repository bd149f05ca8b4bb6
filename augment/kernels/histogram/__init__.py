"""Kernels of the histogram family."""
