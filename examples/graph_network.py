"""A graph network with keyword inputs, its nodes as points: python examples/graph_network.py"""

import torch
from torch import Tensor, nn

from repdyn.diagnostics.measure import measure

torch.manual_seed(0)
NODES = 120
community = torch.arange(NODES) % 3
together = community[:, None] == community[None]
linked = torch.rand(NODES, NODES) < torch.where(together, 0.1, 0.01)
graph = {"x": torch.randn(NODES, 8), "edge_index": linked.nonzero().T}


class GraphNetwork(nn.Module):
    """Two rounds of messages over edges, summed by node; returns a dictionary, as many libraries do."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(8, 32), nn.Linear(32, 32), nn.Linear(32, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> dict[str, Tensor]:
        """Hidden states and logits of every node."""
        for layer in (self.first, self.second):
            h = layer(x)
            x = torch.relu(h + torch.zeros_like(h).index_add(0, edge_index[1], h[edge_index[0]]))
        return {"hidden": x, "logits": self.head(x)}


model = GraphNetwork()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
options = {"labels": community, "output": "logits", "classifier": "head"}
layers = ["first", "relu", "second", "relu_1", "head"]  # `relu_1`: the second call of torch.relu
before = measure(model, graph, layers, **options)
for _ in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(**graph)["logits"], community).backward()
    optimizer.step()
after = measure(model, graph, layers, **options)
after.to_netcdf("graph_network.nc")
for name, measures in (("before", before), ("after", after)):
    print(
        name,
        f"accuracy {float(measures['accuracy']):.2f}",
        dict(zip(layers, measures["nc1"].values.round(2), strict=True)),
    )
