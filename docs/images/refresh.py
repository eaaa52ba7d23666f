"""Pictures of README and docs/index.md, scaled down: python docs/images/refresh.py results/default."""

import sys
from pathlib import Path

from PIL import Image  # comes with matplotlib

WIDTH, COLORS = 900, 256
FIGURES = (
    "bn_decomposed/fig3_odd_point",
    "truncation_flow/printed_and_corrected",
    "bn_mean_field/matched_loss",
    "leaky_resnets/geodesic_laboratory",
    "universality/n2_final_distribution",
    "diagnostics/through_depth",
)


def main(run: Path) -> None:
    """Writes one small PNG per figure beside this file."""
    for figure in FIGURES:
        study, name = figure.split("/")
        with Image.open(run / study / "figures" / f"{name}.png") as picture:
            size = (WIDTH, round(picture.height * WIDTH / picture.width))
            small = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        small.quantize(COLORS, dither=Image.Dither.NONE).save(Path(__file__).with_name(f"{study}.png"), optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
