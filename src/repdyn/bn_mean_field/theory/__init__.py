"""Ma, Ying: two-layer networks with batch normalization as flows of measures on a manifold."""
