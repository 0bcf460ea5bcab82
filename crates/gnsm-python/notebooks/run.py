"""Runs notebooks from top to bottom: `python run.py OUT`. They are left with their results in the folder OUT."""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main(out: Path) -> None:
    """Runs all notebooks beside this file; the first error ends it."""
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(Path(__file__).parent.glob("*.ipynb")):
        start = time.monotonic()
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(out)}}).execute()
        nbformat.write(notebook, out / path.name)
        print(f"{path.name}: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
