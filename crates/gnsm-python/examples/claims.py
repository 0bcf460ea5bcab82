"""Finds the odd rows of a file: `python claims.py FILE`."""

import sys

import gnsm


def main(path: str) -> None:
    """Prints the oddest rows of a file, each with its strongest reason."""
    model = gnsm.fit(path)
    scores = model.score(path, own=True, explain=1, fdr=0.1)
    oddest = model.explain(path, top=5, own=True, reasons=1)
    print(oddest)
    print(f"{int(sum(scores['anomaly']))} of {len(scores['score'])} rows flagged")


if __name__ == "__main__":
    main(sys.argv[1])
