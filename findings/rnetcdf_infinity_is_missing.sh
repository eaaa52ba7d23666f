#!/usr/bin/env bash
# Packages: RNetCDF 2.6.2 and ncdf4 1.21 under R 4.2.2 (Debian 12: apt-get install r-cran-rnetcdf r-cran-ncdf4);
#   netCDF4 1.7.5.1.post1, numpy 2.4.6.
# Behaviour: a variable without _FillValue has the netCDF default, 9.97e36. RNetCDF's var.get.nc takes it for the end of
#   the valid range and returns NA for all above, infinity among it; what is below -9.97e36, minus infinity too, stays.
#   With _FillValue = -1 the valid range is what lies above -1, and -2 is NA. With a _FillValue of NaN, or na.mode = 0,
#   all numbers come back. ncdf4 returns all of them.
# Seen: 1 -2 1e37 Inf -1e37 -Inf is 1 -2 NA NA -1e37 -Inf by RNetCDF and unchanged by ncdf4; with _FillValue = -1 it is
#   1 NA 1e37 Inf NA NA.
# Why it surprises: the guess was that a fill value marks the entries equal to it. A time that is infinite (never
#   reached) becomes a missing one, and mean(x, na.rm = TRUE) is finite.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
Rscript -e 'stopifnot(packageVersion("RNetCDF") == "2.6.2", packageVersion("ncdf4") == "1.21")'
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet netCDF4==1.7.5.1.post1 numpy==2.4.6
"$here/venv/bin/python" - "$here/times.nc" <<'PY'
import sys

import numpy as np
from netCDF4 import Dataset

with Dataset(sys.argv[1], "w") as file:
    file.createDimension("run", 6)
    for name, fill in [("none", None), ("nan", np.nan), ("minus_one", -1.0)]:
        file.createVariable(name, "f8", ("run",), fill_value=fill)[:] = [1, -2, 1e37, np.inf, -1e37, -np.inf]
PY
cat > "$here/read.R" <<'R'
path <- commandArgs(TRUE)
numbers <- c(1, -2, 1e37, Inf, -1e37, -Inf)
file <- RNetCDF::open.nc(path)
read <- function(name, ...) as.vector(RNetCDF::var.get.nc(file, name, ...))
cat("RNetCDF, no fill value:", read("none"), "\n")
cat("RNetCDF, fill value -1:", read("minus_one"), "\n")
stopifnot(
  identical(read("none"), c(1, -2, NA, NA, -1e37, -Inf)),
  identical(read("minus_one"), c(1, NA, 1e37, Inf, NA, NA)),
  identical(read("nan"), numbers),
  identical(read("none", na.mode = 0), numbers)
)
other <- ncdf4::nc_open(path)
cat("ncdf4, no fill value:  ", as.vector(ncdf4::ncvar_get(other, "none")), "\n")
stopifnot(identical(as.vector(ncdf4::ncvar_get(other, "none")), numbers))
R
Rscript "$here/read.R" "$here/times.nc"
