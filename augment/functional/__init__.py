"""The kernels: pure functions of tensors, by family."""
