from collections.abc import Callable, Sequence
from typing import Any

METHODS: list[str]
MASK_METHODS: list[str]
__version__: str

class GnsmError(ValueError): ...

_Tell = Callable[[str, int, int, float | None], object] | None

class Core:
    @staticmethod
    def fit(
        source: tuple[Any, ...],
        *,
        method: str,
        preset: str | None,
        head: str | None,
        settings: str,
        seed: int,
        label: str | None,
        anomaly: str | None,
        kinds: Sequence[tuple[str, str]],
        max_seconds: float | None,
        max_memory: str | None,
        max_rows: int | None,
        survey: bytes | None,
        tell: _Tell,
    ) -> tuple[Core, list[str]]: ...
    @staticmethod
    def load(path: str) -> Core: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Core: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str) -> None: ...
    def describe(self) -> str: ...
    def score(
        self, source: tuple[Any, ...], rule: tuple[str, float], explain: int, own: bool, drift: bool, tell: _Tell
    ) -> tuple[bytearray, bytearray, bytearray, list[list[str | None]], list[str]]: ...
    def explain(
        self,
        source: tuple[Any, ...],
        top: int,
        rows: Sequence[int] | None,
        most: int,
        own: bool,
        drift: bool,
        tell: _Tell,
    ) -> tuple[list[tuple[int, float, float, float, list[dict[str, Any]]]], list[str]]: ...

def main(arguments: Sequence[str]) -> int: ...
def settings(method: str, preset: str | None = None, head: str | None = None) -> str: ...
def columns(
    source: tuple[Any, ...], label: str | None, kinds: Sequence[tuple[str, str]]
) -> list[tuple[str, str, str]]: ...
def survey(source: tuple[Any, ...], most: int, label: str | None, anomaly: str | None) -> bytes: ...
def merged(parts: Sequence[bytes]) -> tuple[bytes, int, int]: ...
def chosen(source: tuple[Any, ...], limit: int, label: str | None, anomaly: str | None) -> bytes: ...
def drift(core: Core, source: tuple[Any, ...], tell: _Tell) -> str: ...
def odd_cells(core: Core, source: tuple[Any, ...], fdr: float) -> tuple[list[dict[str, Any]], list[str]]: ...
def changes(
    core: Core, source: tuple[Any, ...], at_least: float
) -> tuple[list[tuple[int, str, str, str, float]], list[str]]: ...

class MaskCore:
    @staticmethod
    def fit(
        source: tuple[Any, ...],
        *,
        method: str,
        preset: str | None,
        head: str | None,
        settings: str,
        classes: int | None,
        size: int | None,
        void: int | None,
        seed: int,
        max_seconds: float | None,
        tell: _Tell,
    ) -> tuple[MaskCore, list[str]]: ...
    @staticmethod
    def load(path: str) -> MaskCore: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> MaskCore: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str) -> None: ...
    def describe(self) -> str: ...
    def score(
        self, source: tuple[Any, ...], rule: tuple[str, float], tell: _Tell
    ) -> tuple[bytearray, bytearray, bytearray, list[str]]: ...
    def maps(
        self, source: tuple[Any, ...], tell: _Tell
    ) -> tuple[list[tuple[int, int, bytes] | None], list[str]]: ...

def mask_names(path: str) -> list[str]: ...
def mask_settings(method: str, preset: str | None = None, head: str | None = None) -> str: ...
def mask_metrics(
    truth: tuple[Any, ...], prediction: tuple[Any, ...], void: int | None
) -> tuple[list[tuple[str, bytearray]], list[str]]: ...
