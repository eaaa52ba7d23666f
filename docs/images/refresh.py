"""Pictures of README and docs/index.md, scaled down: python docs/images/refresh.py results/default.

The picture of the report wants a Chromium, `chromium` or what the variable CHROMIUM names.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.animation import FuncAnimation, PillowWriter
from PIL import Image  # comes with matplotlib

from repdyn.plotting.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, YELLOW

WIDTH, COLORS = 900, 256
FRAMES, PER_SECOND, REST = 60, 12, 24  # of the animation; the last frame stays
WINDOW = 1400, 800  # pixels of the report's first page that are shown
KEPT = (BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, YELLOW, "#FFFFFF")
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
            small = scaled(picture.convert("RGB"))
        few_colors(small).save(Path(__file__).with_name(f"{study}.png"), optimize=True)
    climbing_flow(run)
    few_colors(scaled(first_page(run))).save(Path(__file__).with_name("report.png"), optimize=True)


def climbing_flow(run: Path) -> None:
    """Writes `climbing_flow.gif`: one data point and its cost along the printed and the corrected flow."""
    with xr.open_dataset(run / "truncation_flow/data/printed_and_corrected.nc") as data:
        example = data.isel(example=0).load()
    figure, (plane, costs) = plt.subplots(1, 2, figsize=(7, 3.1), layout="constrained", dpi=100)
    looks = {"printed": {"color": RED, "linestyle": "--"}, "corrected": {"color": BLUE, "linestyle": "-"}}
    paths, balls = [], []
    for axis, x, y in ((plane, None, "example_image"), (costs, example["time"].values, "example_cost")):
        for formula, look in looks.items():
            values = example[y].sel(formula=formula).values
            points = values if x is None else np.column_stack([x, values])
            axis.plot(*points.T, **look, alpha=0.2)
            paths.append((*axis.plot([], [], **look, label=f"flow as {formula}"), points))
            balls.append(*axis.plot([], [], "o", color=look["color"]))
    for name, marker, words in (("example_point", "o", "data point"), ("example_label", "*", "label")):
        plane.plot(*example[name].values, marker, color=BLACK, linestyle="none", label=words)
    plane.set_title("Image of the data point", fontsize=10)
    plane.set(xlabel="first coordinate", ylabel="second coordinate")
    plane.set_aspect("equal", adjustable="datalim")
    plane.legend(fontsize=8)
    costs.set(xlabel="flow time", ylabel="cost")
    last = example.sizes["time"] - 1

    def show(frame: int) -> None:
        at = round(min(frame / FRAMES, 1) ** 1.5 * last)
        for (line, points), ball in zip(paths, balls, strict=True):
            line.set_data(*points[: at + 1].T)
            ball.set_data(*points[at : at + 1].T)
        now = example["example_cost"].isel(time=at)
        numbers = ", ".join(f"{formula} {float(now.sel(formula=formula)):.3f}" for formula in looks)
        costs.set_title(f"Cost: {numbers}", fontsize=10)

    film = FuncAnimation(figure, show, frames=FRAMES + REST)
    film.save(Path(__file__).with_name("climbing_flow.gif"), PillowWriter(fps=PER_SECOND))


def first_page(run: Path) -> Image.Image:
    """The beginning of the report as a browser shows it."""
    with TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        command = [os.environ.get("CHROMIUM", "chromium"), "--headless", "--no-sandbox", "--hide-scrollbars"]
        command += ["--force-prefers-reduced-motion"]  # the animation at its end
        command += [f"--window-size={WINDOW[0]},{WINDOW[1]}", f"--screenshot={shot}"]
        subprocess.run([*command, (run / "report/index.html").resolve().as_uri()], check=True, capture_output=True)
        with Image.open(shot) as picture:
            return picture.convert("RGB")


def scaled(picture: Image.Image) -> Image.Image:
    """The picture at the width of the pages; the filter does not overshoot, so that areas keep their color."""
    return picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.HAMMING)


def few_colors(picture: Image.Image) -> Image.Image:
    """The picture in 256 colors: those of the figures as they are, the others as Pillow chooses."""
    kept = np.array([[int(color[place : place + 2], 16) for place in (1, 3, 5)] for color in KEPT])
    chosen = picture.quantize(COLORS - len(kept), dither=Image.Dither.NONE).getpalette() or []
    palette = np.concatenate([kept, np.reshape(chosen, (-1, 3))])
    shades, places = np.unique(np.asarray(picture).reshape(-1, 3), axis=0, return_inverse=True)
    nearest = [int(((palette - shade) ** 2).sum(axis=1).argmin()) for shade in shades.astype(int)]
    indices = np.array(nearest, np.uint8)[places.ravel()].reshape(picture.height, picture.width)
    few = Image.fromarray(indices)
    few.putpalette(palette.astype(np.uint8).tobytes())
    return few


if __name__ == "__main__":
    main(Path(sys.argv[1]))
