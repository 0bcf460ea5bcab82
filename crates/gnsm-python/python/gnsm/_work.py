"""Progress and warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple, Union

from ._gnsm import GnsmError


class GnsmWarning(UserWarning):
    """Something is probably not as you wanted it."""


class Progress(NamedTuple):
    """How far a piece of work is. A `total` of 0 is one that is not known."""

    what: str
    done: int
    total: int
    loss: float | None


Wanted = Union[bool, Callable[[Progress], object], None]


def warn(texts: Iterable[str]) -> None:
    """Issues warnings that point to the caller's line outside of this package."""
    for text in texts:
        level, frame = 2, sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gnsm":
            frame, level = frame.f_back, level + 1  # type: ignore[assignment]
        warnings.warn(text, GnsmWarning, stacklevel=level)


def _is_lively() -> bool:
    """Whether somebody watches who may be shown something that moves."""
    if "ipykernel" in sys.modules:
        return True
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


class Teller:
    """Shows or hands on progress: a bar, the caller's function, or nothing."""

    def __init__(self, wanted: Wanted) -> None:
        if not (callable(wanted) or wanted is None or isinstance(wanted, bool)):
            raise GnsmError(f"`progress` is {wanted!r}; give True, False, None or a function")
        self.bar: Any = None
        self.what = ""
        self.callback = wanted if callable(wanted) else None
        self.shows = wanted is True or (wanted is None and _is_lively())
        if self.shows:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self.shows = False
            else:
                self.tqdm = tqdm

    @property
    def function(self) -> Callable[[str, int, int, float | None], object] | None:
        """What the native part calls, if anything is to be told."""
        return self.tell if self.shows or self.callback else None

    def tell(self, what: str, done: int, total: int, loss: float | None) -> None:
        """Takes a step."""
        if self.callback:
            self.callback(Progress(what, done, total, loss))
        if not self.shows:
            return
        if self.bar is None or self.what != what:
            self.close()
            self.what = what
            self.bar = self.tqdm(desc=what, total=total or None, leave=False, unit="step" if total else "row")
        self.bar.n = done
        if loss is not None:
            self.bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
        self.bar.refresh()

    def close(self) -> None:
        """Takes the bar away."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def __enter__(self) -> Teller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
