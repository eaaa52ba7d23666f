"""How long a symmetric batch waits for an odd point, with and without randomness."""

import pytest
from tests.bn_decomposed import made_up_layers

from repdyn.base.decisions import decide_claim
from repdyn.bn_decomposed.claims.symmetric_batch import symmetric_batches_wait


@pytest.mark.parametrize("limit_makes_it_too", [False, True])
def test_an_outlier_without_randomness_leaves_the_claim_undecided(limit_makes_it_too):
    """The knock-out: if layers without fluctuations make an odd point, too, the cause has not been shown."""
    data = {"symmetric_batch": made_up_layers.waits(knocked_out=limit_makes_it_too)}
    verdict = decide_claim(symmetric_batches_wait, data).ledger["verdict"]
    assert verdict == ("not decidable at this scale" if limit_makes_it_too else "holds")
