#!/usr/bin/env bash
# Packages: h5netcdf 1.8.2, h5py 3.16.0, netCDF4 1.7.5.1.post1, numpy 2.4.6.
# Behaviour: when an unlimited dimension grows in a file of h5netcdf, entries that nobody has written yet are 0 for every
#   reader, netCDF4 with its masks included; in a file that netCDF4 writes they are the fill value of netCDF (9.97e36),
#   which readers mask.
# Seen: two losses recorded, three more moments of which only the last is written: [1, 1, 0, 0, 2] with no mask from
#   h5netcdf's file, [1, 1, missing, missing, 2] from netCDF4's; a second variable that was not written at all ends in three
#   zeros. With fillvalue=nan h5netcdf's gaps are missing, too.
# Why it surprises: the guess was that a gap in a netCDF-4 file is the default fill value of its type, as the format's
#   guide says, whichever of the two libraries made the file: a recording that skipped moments has losses of 0.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet h5netcdf==1.8.2 h5py==3.16.0 netCDF4==1.7.5.1.post1 numpy==2.4.6
cd "$here"
"$here/venv/bin/python" - <<'PY'
import h5netcdf
import netCDF4
import numpy as np

with h5netcdf.File("h5netcdf.nc", "w") as file:
    file.dimensions = {"time": None}
    for name, options in (("loss", {}), ("other", {}), ("named", {"fillvalue": np.nan})):
        file.create_variable(name, ("time",), float, **options)
    file.resize_dimension("time", 2)
    for variable in file.variables.values():
        variable[:] = 1
    file.resize_dimension("time", 5)
    file.variables["loss"][4] = 2
with netCDF4.Dataset("netcdf4.nc", "w") as file:
    file.createDimension("time", None)
    for name in ("loss", "other"):
        file.createVariable(name, float, ("time",))[:2] = np.ones(2)
    file.createVariable("named", float, ("time",), fill_value=np.nan)[:2] = np.ones(2)
    file["loss"][4] = 2

seen = {}
for path in ("h5netcdf.nc", "netcdf4.nc"):
    with netCDF4.Dataset(path) as file:
        seen[path] = {name: file[name][:] for name in file.variables}
    print(path, {name: str(values) for name, values in seen[path].items()})
zeros, gaps = seen["h5netcdf.nc"], seen["netcdf4.nc"]
assert zeros["loss"].tolist() == [1, 1, 0, 0, 2]
assert zeros["other"].tolist() == [1, 1, 0, 0, 0]
assert gaps["loss"].tolist() == [1, 1, None, None, 2]
assert gaps["other"].tolist() == [1, 1, None, None, None]
assert np.isnan(np.ma.filled(zeros["named"], np.nan)).tolist() == [False, False, True, True, True]
PY
