"""Kernels of the noise family."""
