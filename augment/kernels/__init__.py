"""Kernels in C for bytes on the CPU."""
