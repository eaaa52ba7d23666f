"""Adam's constants as its authors and torch have them, for all trainings written by hand."""

BETAS = (0.9, 0.999)
EPSILON = 1e-8
