"""Numbers that stay what they were given as, and kernels that compile only when it pays."""
