"""Random networks with batch normalization, and the audit of formulas on random cases."""
