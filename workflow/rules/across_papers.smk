"""Four networks through the diagnostics of all papers."""

ACR_TRAINING = JOBS.simulate("across_papers/training", "two_points", "digits", "odd_batch", memory_mb=1000)


use rule job as across_papers_training with:
    input:
        **inputs(ACR_TRAINING),
    output:
        **outputs(ACR_TRAINING),
    log:
        ACR_TRAINING.log,
    cache: CACHED


ACR_FITS = JOBS.simulate("across_papers/theory_fits", "theory_fits")


use rule job as across_papers_theory_fits with:
    input:
        **inputs(ACR_FITS),
    output:
        **outputs(ACR_FITS),
    log:
        ACR_FITS.log,
    cache: CACHED
