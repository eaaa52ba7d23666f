"""Chen: gradient flow in cumulative parameters, as printed and corrected; truncation of data."""
