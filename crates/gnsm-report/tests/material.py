"""Tables, masks and reports that the pages are tested with."""

import csv
import random
import struct
import subprocess
import zlib

HOSTILE = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "\"><svg onload=window.pwned=1>",
    "' onmouseover='window.pwned=1",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "<!-- --> ]]> &lt;b&gt; &amp;",
    "👩‍👧 🦀 ünïcödé",
    "abc\u202egpj.exe",
    "שלום \u200f عالم",
    "=cmd|' /C calc'!A0",
    "line\nbreak, comma \"quote\"",
    "x" * 10_000,
    "\u2028 \u2029 \\u003c \\",
]
HOSTILE_FILE = "<script>window.pwned=1<!script> & \"q\" '\u202e🦀.csv"


def gnsm(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def hostile_table(path):
    """A table whose name, column names and values are all out to become part of the page."""
    draw = random.Random(7)
    names = ["colour", HOSTILE[1], HOSTILE[3], "size"]
    rows = [[draw.choice("abc"), draw.choice(["m", "n"]), draw.choice(["p", "q"]), draw.randint(1, 50)] for _ in range(300)]
    for at, text in enumerate(HOSTILE):
        rows[20 * at][at % 3] = text
    return write(path, names, rows)


def wide_table(path):
    draw = random.Random(8)

    def row():
        kind = draw.randrange(4)
        return [draw.gauss(kind * 10, 1 + at) if at % 2 else f"value {kind} {draw.randrange(3)}" for at in range(50)]

    return write(path, [f"column {at}" for at in range(50)], [row() for _ in range(1000)])


def moved_table(demo, path):
    """The demo's rows a year on: other countries, other amounts, no departments."""
    with open(demo, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    country, amount, department = (header.index(name) for name in ["country", "amount", "department"])
    for at, row in enumerate(rows):
        row[country] = ["Atlantis <b>", "Lemuria"][at % 2]
        row[amount] = f"{float(row[amount]) * 40:.2f}"
        row[department] = "" if at % 3 else row[department]
    return write(path, header, rows)


def png(path, width, height, pixel):
    """A grey picture; `pixel` gives the value at a place."""
    lines = b"".join(bytes([0]) + bytes(pixel(x, y) for x in range(width)) for y in range(height))

    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b""))


def mask_report(binary, folder, page):
    """Six images with masks; the last is missing."""
    for name in ["images", "masks", "maps"]:
        (folder / name).mkdir(parents=True)
    scores = []
    for at in range(6):
        png(folder / "images" / f"m{at}.png", 48, 48, lambda x, y: (x * 5 + y * at) % 256)
        if at < 5:
            png(folder / "masks" / f"m{at}.png", 48, 48, lambda x, y: 1 if (x - 24) ** 2 + (y - 24) ** 2 < 40 * (at + 2) else 0)
            png(folder / "maps" / f"m{at}.png", 48, 48, lambda x, y: (x * y) % 256)
        scores.append([f"m{at}", 9.5 - at, 0.001 * 4**at, int(at < 2)])
    write(folder / "scores.csv", ["id", "score", "p_value", "anomaly"], scores)
    arguments = [folder / "scores.csv", "--images", folder / "images", "--pred", folder / "masks", "--maps", folder / "maps"]
    subprocess.run([binary, "mask", "report", *arguments, "-o", page], capture_output=True, check=False)
    assert page.exists(), "a mask report"


def make(binary, folder):
    """All of it. The parts of the folder are named by what they are."""
    demo, hostile = folder / "demo.csv", hostile_table(folder / HOSTILE_FILE)
    wide, moved = wide_table(folder / "wide.csv"), folder / "moved.csv"
    gnsm(binary, "demo", "--out", demo)
    gnsm(binary, "detect", demo, "--report", folder / "demo.html", "--save", folder / "demo.gnsm")
    gnsm(binary, "detect", hostile, "--report", folder / "hostile.html", "--save", folder / "hostile.gnsm")
    gnsm(binary, "report", folder / "demo.gnsm", moved_table(demo, moved), "-o", folder / "moved.html")
    gnsm(binary, "fit", wide, "-o", folder / "wide.gnsm")
    gnsm(binary, "report", folder / "wide.gnsm", wide, "--top", "1000", "-o", folder / "wide.html")
    mask_report(binary, folder / "masks", folder / "masks.html")
    return hostile
