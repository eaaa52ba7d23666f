"""Which tokens of a batch are padding, as a mask among the network's arguments says."""

from __future__ import annotations

import contextlib
import inspect

import torch
from torch import Tensor, nn

from repdyn.diagnostics.methods.batches import Batch

PADDING = (  # those of attention keep, the others take out
    "attention_mask",
    "src_key_padding_mask",
    "key_padding_mask",
    "encoder_attention_mask",
    "decoder_attention_mask",
    "tgt_key_padding_mask",
    "memory_key_padding_mask",
)
MASKED = -1e3  # what a mask that is added to scores takes out has at most


def real_tokens(model: nn.Module, batch: Batch, points: int | None) -> Tensor | None:
    """The tokens that are no padding, shape (points, tokens), as an argument of the network says.

    Raises:
        ValueError: it does not say which, or several of them differ.
    """
    arguments: dict[str, object] = dict(batch.kwargs)
    if batch.args:
        with contextlib.suppress(TypeError, ValueError):  # without a signature
            arguments = inspect.signature(model.forward).bind(*batch.args, **batch.kwargs).arguments | arguments
    found = {name: _real(name, part, points) for name in PADDING if isinstance(part := arguments.get(name), Tensor)}
    if not found:
        return None
    first = next(iter(found))
    for name, mask in found.items():
        if mask.shape == found[first].shape and not torch.equal(mask, found[first]):
            raise ValueError(
                f"{first} and {name} differ, so that nothing says which tokens of a layer are padding; measure the "
                "layers of each on their own, with features=Features(..., mask=mask)"
            )
    return found[first]


def _real(name: str, mask: Tensor, points: int | None) -> Tensor:
    """Which tokens a mask keeps: of zeros and ones, of truth values, or of zeros and large negative numbers.

    Raises:
        ValueError: another one.
    """
    part = mask.reshape(len(mask), -1) if mask.ndim > 2 and mask.numel() == len(mask) * mask.shape[-1] else mask
    if part.ndim == 2 and len(part) == (points or len(part)):
        if bool(((part == 0) | (part == 1)).all()):
            return part == name.endswith("attention_mask")
        if bool(((part == 0) | (part <= MASKED)).all()):
            return part == 0
    raise ValueError(
        f"{name} has shape {tuple(mask.shape)} and type {mask.dtype}, which does not say which tokens are padding; "
        "give features=Features(..., mask=mask), shape (points, tokens), True for what counts"
    )
