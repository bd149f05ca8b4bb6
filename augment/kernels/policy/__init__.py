"""Kernels of the policy family."""
