"""Ranges that several knobs of the study share."""

from typing import Annotated

from pydantic import Field

from repdyn.base.settings import Many

Width = Annotated[int, Field(ge=8, le=8192)]
Batch = Annotated[int, Field(ge=3, le=512)]
Depth = Annotated[int, Field(ge=1, le=2000)]
Seeds = Annotated[int, Field(ge=2, le=10_000)]
Rate = Annotated[float, Field(gt=0, le=10)]
Points = Many[Annotated[int, Field(ge=3, le=50)]]
