"""Kernels of the compression family."""
