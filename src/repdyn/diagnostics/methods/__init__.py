"""How a network of any kind is read: inputs, layers, outputs, batches, sentences on results."""
