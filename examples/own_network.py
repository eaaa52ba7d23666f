"""The papers' diagnostics on a tiny transformer that reads digits row by row: python examples/own_network.py"""

import torch
from sklearn.datasets import load_digits
from torch import nn

from repdyn.diagnostics import plots
from repdyn.diagnostics.measure import Recorder

torch.manual_seed(0)
X, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
X = X.float().view(-1, 8, 8) / 16  # eight tokens, the rows of an image
block = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
encoder = nn.TransformerEncoder(block, 3, enable_nested_tensor=False)
model = nn.Sequential(nn.Linear(8, 32), encoder, nn.Flatten(), nn.Linear(256, 10))
stream = ["0", "1.layers.0", "1.layers.1", "1.layers.2"]
recorder = Recorder(model, X[:60], [*stream, "3"], labels=y[:60], residual=stream, time="epoch")
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    recorder(epoch)
    for chosen in torch.randperm(len(X) - 60).add(60).split(64):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X[chosen]), y[chosen]).backward()
        optimizer.step()
found = recorder.dataset()
found.to_netcdf("own_network.nc")
plots.through_depth(found).savefig("own_network.png", dpi=160)
print(found[["accuracy", "effective_rank"]].sel(layer="1.layers.2").to_dataframe().round(2))
