"""Rows of a layer's tensor: in which precision, pooled or token by token, and the heads among its channels."""

import numpy as np
import pytest
import torch

from repdyn.diagnostics.methods.features import Features, as_rows


def test_rows_are_in_single_precision_unless_they_came_in_double_and_complex_ones_are_pairs():
    for dtype, wanted in ((torch.float64, np.float64), (torch.float32, np.float32), (torch.bfloat16, np.float32)):
        rows = as_rows(torch.tensor([[1.0, 2.0]], dtype=dtype, requires_grad=True))
        assert rows.dtype == wanted
        assert rows.tolist() == [[1, 2]]
    values = torch.tensor([[1 + 2j, 3 - 4j], [5j, 6]])
    assert as_rows(values.conj()).tolist() == [[1, -2, 3, 4], [0, -5, 6, 0]]
    assert as_rows(values.to(torch.complex128)).dtype == np.float64


@pytest.mark.parametrize(
    ("kind", "channels", "rows", "per_point"),
    [
        ("flatten", None, [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], 1),
        ("pool", 1, [[1, 4], [7, 10]], 1),
        ("pool", -1, [[1.5, 2.5, 3.5], [7.5, 8.5, 9.5]], 1),
        ("tokens", 1, [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8, 11]], 3),
        ("tokens", -1, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]], 2),
    ],
)
def test_rows_of_points_with_two_more_axes(kind, channels, rows, per_point):
    features, tensor = Features(kind, channels), torch.arange(12.0).reshape(2, 2, 3)
    assert features.rows("a", tensor).tolist() == rows
    assert features.per_point(tensor) == per_point
    plain = torch.arange(6.0).reshape(2, 3)
    assert features.per_point(plain) == 1
    if kind == "tokens":
        with pytest.raises(ValueError, match=r"^it returns shape \(2, 3\), which has no axis of tokens$"):
            features.rows("a", plain)
    else:
        assert features.rows("a", plain).tolist() == plain.tolist()


@pytest.mark.parametrize("kind", ["pool", "tokens"])
def test_channels_are_asked_for_where_there_are_more_axes_than_two(kind):
    features = Features(kind)
    assert features.per_point(torch.zeros(2, 3, 4)) == 1
    with pytest.raises(
        ValueError, match=rf"^it returns shape \(2, 3, 4\) and features='{kind}' needs the axis of the "
    ):
        features.rows("a", torch.zeros(2, 3, 4))


def test_heads_are_equal_parts_of_the_channels_one_after_another():
    features = Features("pool", channels=-1, heads=3)
    heads = dict(features.heads_of("a", torch.arange(12.0).reshape(2, 6)))
    assert {name: part.tolist() for name, part in heads.items()} == {
        "a[head 0]": [[0, 1], [6, 7]], "a[head 1]": [[2, 3], [8, 9]], "a[head 2]": [[4, 5], [10, 11]],
    }  # fmt: skip
    for other in (torch.zeros(2, 4), torch.zeros(6), None, (torch.zeros(2, 6),)):
        assert not list(features.heads_of("a", other))
    assert not list(Features("pool", channels=-1).heads_of("a", torch.zeros(2, 6)))
