"""Particle flows, compiled descent, distances between particle systems, the audit of formulas."""
