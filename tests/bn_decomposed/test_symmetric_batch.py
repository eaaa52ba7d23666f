"""How long a symmetric batch waits for an odd point, with and without randomness."""

import numpy as np
import pytest
from tests.bn_decomposed import made_up_layers

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.decisions import decide_claim
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.claims.symmetric_batch import symmetric_batches_wait
from repdyn.bn_decomposed.experiments.symmetric_batch import symmetric_batch
from repdyn.bn_decomposed.settings.study import SymmetricBatch


@pytest.fixture(scope="module")
def waits():
    settings = SymmetricBatch(batches=[8], widths=[24], runs=30, depth=200, far=10.0)
    return symmetric_batch(settings, Stream(0, ("bn_decomposed", "symmetric_batch")), Checkpoint(None, ""))


def test_equal_angles_stay_without_randomness(waits):
    symmetric = waits["wait_in_the_limit"].sel(start=["equal angles", "circle"])
    assert (symmetric == 201).all()
    assert (waits["wait_in_the_limit"].sel(start="one point far") == 1).all()


def test_an_outlier_forms_at_finite_width_and_any_point_is_it(waits):
    symmetric = waits.sel(start="equal angles")
    assert (symmetric["wait"].sel(factor=2) <= 200).mean() > 0.9
    assert np.unique(symmetric["odd"]).size > 4
    assert (waits["wait"].sel(factor=4) >= waits["wait"].sel(factor=2)).all()


@pytest.mark.parametrize("limit_makes_it_too", [False, True])
def test_an_outlier_without_randomness_leaves_the_claim_undecided(limit_makes_it_too):
    """The knock-out: if layers without fluctuations make an odd point, too, the cause has not been shown."""
    data = {"symmetric_batch": made_up_layers.waits(knocked_out=limit_makes_it_too)}
    verdict = decide_claim(symmetric_batches_wait, data).ledger["verdict"]
    assert verdict == ("not decidable at this scale" if limit_makes_it_too else "holds")
