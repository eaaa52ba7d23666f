"""Integrators of the flow with its events, clusters, metrics, and the audit of formulas."""
