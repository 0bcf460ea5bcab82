"""The command `gnsm`."""

import sys

from ._gnsm import main as run


def main() -> None:
    """Runs the command line program and ends the process with its exit code."""
    sys.exit(run(["gnsm", *sys.argv[1:]]))
