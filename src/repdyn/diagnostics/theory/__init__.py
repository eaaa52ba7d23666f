"""Measures of representations as functions of arrays: angles, ranks, collapse, similarity."""
