"""Training on two points and by minibatches, fits of effective rates, structure of layers."""
