"""Finds odd rows and odd cells in tables, without labels, and says why.

    import gnsm

    model = gnsm.fit(df)                 # learns what is usual
    scores = model.score(new)            # score, p_value, anomaly
    reasons = model.explain(new, top=10) # the oddest rows, cell by cell
    model.save("claims.gnsm")

A table is a pandas, polars or pyarrow frame, anything with the Arrow PyCapsule interface, a numpy array, a dict of
columns, or the path of a file (CSV, JSON lines, Parquet, Arrow, ARFF). What comes back is of the same kind, with the same
index. The index is never learned.

`model.drift`, `model.odd_cells` and `model.repair` look after tables. `gnsm.sklearn` and `gnsm.pyod` have the methods
as estimators, `gnsm.spark` scores on a cluster, and `gnsm.masks` finds odd segmentation masks.
"""

from ._gnsm import METHODS, GnsmError, __version__
from ._model import Column, Model, columns, detect, fit, load, settings
from ._work import GnsmWarning, Progress

__all__ = [
    "METHODS",
    "Column",
    "GnsmError",
    "GnsmWarning",
    "Model",
    "Progress",
    "__version__",
    "columns",
    "detect",
    "fit",
    "load",
    "settings",
]
