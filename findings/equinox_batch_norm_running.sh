#!/usr/bin/env bash
# Packages: equinox 0.13.8, jax 0.10.2, numpy 2.4.6.
# Behaviour: in training, equinox.nn.BatchNorm without `mode` normalizes a batch by the running statistics (which the
#   batch updates first, by a hundredth), not by the batch's own mean and variance. Only the first batch, which the
#   running statistics start from, is normalized by itself. mode="batch" is batch normalization.
# Seen: entries N(3, 4), then 5 times as large and moved by 7: the first batch leaves with mean 0 and deviation 1, the
#   second with mean 8 to 10 and deviation 4.5; with mode="batch" with 0 and 1 again.
# Why it surprises: the guess was that a layer of this name subtracts each training batch's own mean, so that the output
#   is invariant to the scale of the weights before it, whatever the running statistics are.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet equinox==0.13.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
"$here/venv/bin/python" -W ignore - <<'PY'
import equinox as eqx
import jax
import numpy as np

first = 3 + 2 * jax.random.normal(jax.random.key(0), (64, 4))
second = 5 * first + 7


def outputs(**options):
    layer, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(4, axis_name="batch", **options)
    training = jax.vmap(layer, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    for batch in (first, second):
        values, state = training(batch, state)
        yield np.asarray(values)


for options, own in (({}, False), ({"mode": "batch"}, True)):
    for place, values in enumerate(outputs(**options)):
        mean, deviation = values.mean(axis=0), values.std(axis=0)
        print(f"{options}, batch {place}: means {np.round(mean, 2)}, deviations {np.round(deviation, 2)}")
        normalized = np.allclose(mean, 0, atol=1e-3) and np.allclose(deviation, 1, atol=1e-3)
        assert normalized == (own or place == 0)
        assert normalized or (mean.min() > 5 and deviation.min() > 3)
PY
