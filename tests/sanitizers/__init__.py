"""Runs of the kernels in C under sanitizers of the compiler."""
