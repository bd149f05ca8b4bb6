"""Kernels of the dropout family."""
