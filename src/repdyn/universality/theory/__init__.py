"""van Rossem, Saxe: the effective theory of two points, its fixed points and regimes."""
