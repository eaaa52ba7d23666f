"""Data that the studies share."""

MNIST = CONFIG.data.source == "mnist"
IMAGES = JOBS.other(
    "images",
    "images",
    outputs=["data/images.nc"],
    source=CONFIG.data.source,
    split=CONFIG.data.split if MNIST else "test",
    mnist_folder=CONFIG.data.mnist_folder if MNIST else None,
    mnist_mirrors=list(CONFIG.data.mnist_mirrors) if MNIST else [],
)


use rule job as images with:
    input:
        **inputs(IMAGES),
    output:
        IMAGES.outputs,
    log:
        IMAGES.log,
    localrule: True
