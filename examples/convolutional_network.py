"""A convolutional network with AdamW and a DataLoader, recorded to a file: python examples/convolutional_network.py

A killed run keeps what it has; Recorder(..., resume=True) goes on. At the end layers are compared with those of other
seeds, which shows how much of a similarity chance makes.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.figures.similarity import draw_similarity
from repdyn.diagnostics.measure import Recorder

X, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
X = X.float().view(-1, 1, 8, 8) / 16
held_out = DataLoader(TensorDataset(X[:200], y[:200]), batch_size=100)  # the labels come with it


def train(seed: int, file: str | None = None) -> tuple[nn.Module, Recorder]:
    """A network after three epochs, and what was recorded."""
    torch.manual_seed(seed)
    convolutions = [nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*convolutions, nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 10))
    loader = DataLoader(TensorDataset(X[200:], y[200:]), batch_size=64, shuffle=True)
    recorder = Recorder(model, held_out, time="epoch", file=file)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    for epoch in range(4):
        recorder(epoch)
        for images, digits in loader if epoch < 3 else ():
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), digits).backward()
            optimizer.step()
        schedule.step()
    return model, recorder


model, recorder = train(0, "convolutional_network.nc")
measures = recorder.dataset()
print(measures[["accuracy", "nc3", "nc4"]].to_dataframe().round(2))
similar = compare(model, None, held_out, ["0", "3", "5", "7"], reruns=[train(seed)[0] for seed in (1, 2)])
draw_similarity(similar).savefig("similarity.png", dpi=160)
print(similar["cka_debiased_of_runs"].mean("runs").to_series().round(2))
