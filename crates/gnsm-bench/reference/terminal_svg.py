"""Draws what a gnsm command prints in a terminal, as an SVG file.

    python3 terminal_svg.py target/release/gnsm docs/detect.svg detect gnsm-demo.csv --top 3

The command really runs, in a scratch folder that holds the table of `gnsm demo`. It runs in a pseudo-terminal, so that it
prints colours and draws its progress. The picture shows what stands on the screen when it has ended.
Needs Python's standard library and a Unix system. `make picture` writes the README's picture.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from xml.sax.saxutils import escape

COLUMNS = 110
FONT = 14
WIDTH, HEIGHT = 8.43, 20  # of a character, in pixels
MARGIN = 16
CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
COLOURS = {"1": "#f38ba8", "9": "#f38ba8", "2": "#a6e3a1", "3": "#f9e2af", "4": "#89b4fa"}  # of the terminal's palette
FOREGROUND, BACKGROUND = "#e6e6ef", "#1e1e2e"


def run(binary, arguments):
    """The bytes that a command writes to a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "demo", "--out", "gnsm-demo.csv"], cwd=folder, check=True, capture_output=True)
        child, terminal = pty.fork()
        if child == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
            os.chdir(folder)
            os.environ["TERM"] = "xterm-256color"
            os.environ.pop("NO_COLOR", None)
            os.execv(binary, ["gnsm", *arguments])
        parts = []
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # Linux says so when the other side has closed.
                break
            if not part:
                break
            parts.append(part)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"gnsm {' '.join(arguments)} failed")
        return b"".join(parts).decode()


def styled(style, codes):
    """The style after a sequence of SGR codes: a set of `bold`, `faint` and at most one colour."""
    codes = codes.split(";")
    while codes:
        code = codes.pop(0)
        if code in ("", "0"):
            style = frozenset()
        elif code == "1":
            style |= {"bold"}
        elif code == "2":
            style |= {"faint"}
        elif code == "22":
            style -= {"bold", "faint"}
        elif code == "39":
            style = frozenset(part for part in style if part in ("bold", "faint"))
        elif code == "38" and codes[:1] == ["5"]:
            style |= {COLOURS.get(codes[1], FOREGROUND)}
            codes = codes[2:]
        elif len(code) == 2 and code[0] in "39":
            style |= {COLOURS.get(code[1], FOREGROUND)}
    return style


def screen(text):
    """The lines on the screen when all of `text` was written: for each a dictionary from place to character and style."""
    lines, row, column, style, at = [{}], 0, 0, frozenset(), 0
    while at < len(text):
        control = CONTROL.match(text, at)
        if control:
            codes, letter = control.groups()
            if letter == "m":
                style = styled(style, codes)
            elif letter == "K":
                lines[row] = {} if codes == "2" else {c: cell for c, cell in lines[row].items() if c < column}
            elif letter == "A":
                row = max(row - int(codes or 1), 0)
            at = control.end()
            continue
        character = text[at]
        at += 1
        if character == "\r":
            column = 0
        elif character == "\n" or column == COLUMNS:
            row, column = row + 1, column if character == "\n" else 0
            if row == len(lines):
                lines.append({})
        if character not in "\r\n":
            lines[row][column] = (character, style)
            column += 1
    return lines


def spans(line):
    """Pieces of a line that share a style and hold no two blanks in a row: place, text, style."""
    found = []
    for column in range(max(line, default=-1) + 1):
        character, style = line.get(column, (" ", frozenset()))
        if found and found[-1][2] == style:
            found[-1][1] += character
        else:
            found.append([column, character, style])
    words = re.compile(r"\S+(?: \S+)*")
    return [(column + m.start(), m.group(), style) for column, text, style in found for m in words.finditer(text)]


def draw(lines):
    """The SVG text."""
    width, height = round(COLUMNS * WIDTH + 2 * MARGIN), len(lines) * HEIGHT + 2 * MARGIN
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
        f'<g font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{FONT}" fill="{FOREGROUND}">',
    ]
    for row, line in enumerate(lines):
        for column, text, style in spans(line):
            weight = ' font-weight="bold"' if "bold" in style else ""
            faint = ' opacity="0.6"' if "faint" in style else ""
            colour = "".join(f' fill="{part}"' for part in style if part.startswith("#"))
            x, y = MARGIN + column * WIDTH, MARGIN + row * HEIGHT + FONT
            length = f' textLength="{len(text) * WIDTH:.1f}"'
            drawn.append(f'<text x="{x:.1f}" y="{y}"{length}{weight}{faint}{colour}>{escape(text)}</text>')
    return "\n".join([*drawn, "</g>", "</svg>", ""])


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    binary, out, *arguments = sys.argv[1:]
    shown = f"\x1b[2m$\x1b[0m \x1b[1mgnsm {' '.join(arguments)}\x1b[0m\r\n"
    lines = screen(shown + run(os.path.abspath(binary), arguments))
    while lines and not lines[-1]:
        lines.pop()
    with open(out, "w", encoding="utf-8") as file:
        file.write(draw(lines))


main()
