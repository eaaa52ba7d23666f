"""The papers' diagnostics on a small transformer that reads token ids: python examples/own_network.py"""

import torch
from torch import nn

from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.measure import Recorder

torch.manual_seed(0)
tokens = torch.randint(16, (600, 8))  # which of four letters comes most often?
counts = nn.functional.one_hot(tokens % 4, 4).sum(dim=1)
labels = counts.argmax(dim=1)
block = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
encoder = nn.TransformerEncoder(block, 3, enable_nested_tensor=False)
model = nn.Sequential(nn.Embedding(16, 32), encoder, nn.Flatten(), nn.Linear(256, 4))
stream = ["0", "1.layers.0", "1.layers.1", "1.layers.2"]
layers = [*stream, "1.layers.2.add", "3"]  # a residual addition inside a block, named as torch.fx names it
recorder = Recorder(model, tokens[:100], layers, labels=labels[:100], residual=stream, embeddings="0", time="epoch")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(9):
    recorder(epoch)
    for chosen in torch.randperm(500).add(100).split(50):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens[chosen]), labels[chosen]).backward()
        optimizer.step()
measures = recorder.dataset()
measures.to_netcdf("own_network.nc")
draw_depth(measures).savefig("own_network.png", dpi=160)
print(measures[["accuracy", "nc1"]].sel(layer="3").to_dataframe().round(2))
