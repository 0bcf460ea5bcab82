"""Ctrl-C ends any fit within a second, and leaves no thread behind."""

import os
import signal
import subprocess
import sys
import time

import gnsm
import gnsm.masks
import pytest

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted as Linux shows them")

#: Seconds from the signal to the exception. A busy machine may be late, so the best of some tries counts.
LIMIT = 1.0
TRIES = 3

#: The child says when it starts and when it was interrupted, and how many threads it had before and has then.
CHILD = """
import os, signal, sys, time, gnsm, numpy
# A shell that runs the tests in the background switches Ctrl-C off for them.
signal.signal(signal.SIGINT, signal.default_int_handler)
def threads():
    return len(os.listdir("/proc/self/task"))
draw = numpy.random.default_rng(0)
table = {{f"number {{place}}": draw.normal(size={rows}) for place in range(6)}}
table.update({{f"word {{place}}": draw.integers(0, 50, {rows}).astype(str) for place in range(6)}})
model = {before}
count = threads()
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    now = time.monotonic()
    # The pool's last thread may still be about to leave.
    time.sleep(0.2)
    print("interrupted", now, threads() - count)
else:
    print("finished")
"""

#: Rows for which a method takes some seconds in a build for tests; few of them where it is to be in its training soon.
TRAINED = ("gnsm", "dsvdd", "dagmm")
ROWS = {"ocsvm": 20_000, "comprex": 60_000, "knn": 50_000, **dict.fromkeys(TRAINED, 5_000)}


def interrupted(work, rows, wait, before="None"):
    """Seconds until work ends after Ctrl-C, and threads left; None if it was done before."""
    code = CHILD.format(work=work, rows=rows, before=before)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "ready"
        time.sleep(wait)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        word, *numbers = process.communicate(timeout=60)[0].split()
    finally:
        process.kill()
        process.wait()
    return None if word == "finished" else (float(numbers[0]) - start, int(numbers[1]))


def check(work, rows, wait, before="None"):
    late = []
    for _ in range(TRIES):
        found = interrupted(work, rows, wait, before)
        if found is None:
            # This machine is quick: more rows, so that there is something to interrupt.
            rows *= 4
            continue
        seconds, threads = found
        assert threads <= 0, f"{threads} threads are left"
        if seconds < LIMIT:
            return
        late.append(f"{seconds:.1f} s")
    assert not late, f"late: {', '.join(late)}"
    pytest.skip("the work was always done before it could be interrupted")


@pytest.mark.parametrize("method", gnsm.METHODS)
def test_fits(method):
    settings = {"training": {"steps": 1_000_000, "patience": 0}} if method in TRAINED else {}
    work = f"gnsm.fit(table, method={method!r}, settings={settings}, progress=False)"
    check(work, ROWS.get(method, 100_000), 1.5)


def test_fits_of_masks():
    method = gnsm.masks.METHODS[0]
    # Small masks and few at a time: in a build for tests a step with the defaults takes longer than a second.
    settings = {"training": {"steps": 1_000_000, "patience": 0, "batch": 4}} if method == "gnsm" else {}
    masks = "masks = draw.integers(0, 2, (2_000, 16, 16)).astype('uint8')"
    work = f"import gnsm.masks; {masks}; [gnsm.masks.fit(masks, masks, method={method!r}, settings={settings}, "
    check(work + "size=16, progress=False) for _ in range(500)]", 20, 2.0)


@pytest.mark.parametrize("work", ["score(table)", "explain(table)", "drift(table)", "odd_cells(table)"])
def test_what_models_do(work):
    few = "gnsm.fit({name: values[:500] for name, values in table.items()})"
    check(f"model.{work}", 200_000, 0.5, before=few)
