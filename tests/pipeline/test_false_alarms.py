"""Counting false alarms over seeds: what is counted, and that too many are noticed."""

from collections import Counter

import pytest

from repdyn.base import datasets
from repdyn.base.errors import RepdynError
from repdyn.pipeline.ask import false_alarms
from repdyn.pipeline.ask.remake import Remaker

pytestmark = pytest.mark.slow


def test_cheap_sampled_claims_are_counted(smoke_run):
    counted = false_alarms.measure(smoke_run / "results/smoke", seeds=1, seconds=3.0).set_index("claim")
    assert "bnd-eq98" in counted.index  # its data are relu_moments alone, a third of a second
    assert (counted["seeds"] == 1).all()
    assert (counted["derived_rate"] > 0).all()
    assert counted["compatible"].all()


def test_another_seed_makes_other_data_and_the_same_seed_the_same(smoke_run):
    remaker = Remaker(smoke_run / "results/smoke", "bn_decomposed")
    first, again, other = (remaker.datasets(["relu_moments"], seed)["relu_moments"] for seed in (1, 1, 2))
    kept = datasets.read(smoke_run / "results/smoke/bn_decomposed/data/relu_moments.nc")
    assert first.identical(again)
    assert first.equals(kept)  # the run's own seed
    assert not first.equals(other)


def test_data_made_from_variants_are_made_again_with_all_variants(smoke_run):
    remaker = Remaker(smoke_run / "results/smoke", "universality")
    made = remaker.datasets(["digit_pairs", "image_training"])  # from the images, which stay
    kept = smoke_run / "results/smoke/universality/data"
    assert set(made) == {"digit_pairs", "image_training"}
    assert set(made["image_training"]) == {path.stem for path in (kept / "image_training").glob("*.nc")} != set()
    assert made["digit_pairs"].equals(datasets.read(kept / "digit_pairs.nc"))
    assert remaker.cheap(["digit_pairs"], 600)
    assert not remaker.cheap(["relu_moments"], 600)  # another study's


def test_what_a_long_job_made_is_not_tried(smoke_run, monkeypatch):
    monkeypatch.setattr(Remaker, "_make", lambda *_: pytest.fail("made again"))
    remaker = Remaker(smoke_run / "results/smoke", "universality")
    assert remaker._recorded("xor") > 1
    assert not remaker.cheap(["xor"], -1)


@pytest.mark.parametrize(("refuted", "compatible"), [(0, True), (1, True), (4, False)])
def test_more_refutations_than_the_rate_allows_are_noticed(refuted, compatible):
    # binomial(200, .001): P(>= 1) = .18, P(>= 4) = 5e-5
    counts = Counter({"holds": 200 - refuted - 5, "does not hold": refuted, "not decidable at this scale": 5})
    row = false_alarms._row("x-1", 0.001, counts, "holds", 200)
    assert (row["refuted"], row["undecided"], row["compatible"]) == (refuted, 5, compatible)


def test_a_run_that_is_none_is_told(tmp_path):
    with pytest.raises(RepdynError, match="no ledger here"):
        false_alarms.measure(tmp_path, 1, 1.0)
