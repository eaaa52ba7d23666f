"""Training of Leaky ResNets, measures of trained networks, and the audit of formulas."""
