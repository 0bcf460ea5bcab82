"""`python -m gnsm` is the command `gnsm`."""

from ._command import main

main()
