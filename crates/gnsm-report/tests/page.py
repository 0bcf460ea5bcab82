"""Drives the report page in headless Chromium, as a person would: open, sort, filter, expand, mark, download, by keyboard, in the
dark, on a phone, on paper. Then the page of `gnsm serve`: a table, one row, a token. `make test-page` runs it.

    page.py GNSM FOLDER

GNSM is the binary, FOLDER is where tables, pages and screenshots are left. Where Chromium is missing it says so and does nothing,
unless the variable CI is set: then that is an error.
"""

import atexit
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

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


def gnsm(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def hostile_table(folder):
    """A table whose name, column names and values are all out to become part of the page."""
    draw = random.Random(7)
    path = folder / "<script>window.pwned=1<!script> & \"q\" '\u202e🦀.csv"
    names = ["colour", HOSTILE[1], HOSTILE[3], "size"]
    rows = [[draw.choice("abc"), draw.choice(["m", "n"]), draw.choice(["p", "q"]), draw.randint(1, 50)] for _ in range(300)]
    for at, text in enumerate(HOSTILE):
        rows[20 * at][at % 3] = text
    write(path, names, rows)
    return path


def wide_table(folder):
    draw = random.Random(8)
    names = [f"column {at}" for at in range(50)]

    def row():
        kind = draw.randrange(4)
        return [draw.gauss(kind * 10, 1 + at) if at % 2 else f"value {kind} {draw.randrange(3)}" for at in range(50)]

    write(folder / "wide.csv", names, [row() for _ in range(2000)])
    return folder / "wide.csv"


class Page:
    """A page in a browser of its own. What it logs or fetches is an error."""

    first = "#odd tbody tr"
    sources = ("file:", "blob:", "data:")

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.problems = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append("a dialog"))
        self.page.on("request", self.requested)
        start = time.perf_counter()
        self.page.goto(address)
        self.page.wait_for_selector(self.first, state="attached")
        self.seconds = time.perf_counter() - start

    def requested(self, request):
        if not request.url.startswith(self.sources):
            self.problems.append("fetched " + request.url)

    def texts(self, selector):
        return self.page.locator(selector).all_inner_texts()

    def rows(self):
        return [int(text.split()[-1].replace(",", "")) for text in self.texts("#odd .open")]

    def wait_for_rows(self, count):
        from playwright.sync_api import expect

        expect(self.page.locator("#odd .open")).to_have_count(count)

    def status(self):
        return self.page.inner_text("#status")

    def download(self, button):
        with self.page.expect_download() as found:
            self.page.click(button)
        with open(found.value.path(), newline="", encoding="utf-8") as file:
            return found.value.suggested_filename, list(csv.reader(file))

    def close(self):
        assert not self.problems, self.problems
        self.context.close()


def check_axe(page, name):
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page.page).response["violations"]
    bad = [v for v in found if v["impact"] in ("serious", "critical")]
    text = [(v["id"], [(n["target"], n.get("failureSummary", "")[:300]) for n in v["nodes"][:3]]) for v in bad]
    assert not bad, f"{name}: {text}"


def check_sort_and_filter(page):
    everything = page.rows()
    assert len(everything) == 100, page.status()
    scores = [float(text) for text in page.texts("#odd tbody tr td:nth-child(2)")]
    assert scores == sorted(scores, reverse=True)
    page.page.click("#odd thead button:has-text('amount')")
    assert page.page.get_attribute("#odd thead th:last-child", "aria-sort") == "descending"
    amounts = [float(text.split()[0]) for text in page.texts("#odd tbody tr td:last-child")]
    assert amounts == sorted(amounts, reverse=True)
    page.page.click("#odd thead button:has-text('amount')")
    amounts = [float(text.split()[0]) for text in page.texts("#odd tbody tr td:last-child")]
    assert amounts == sorted(amounts)
    page.page.click("#odd thead button:has-text('score')")
    assert page.rows() == everything

    page.page.fill("#search", "cayman")
    page.wait_for_rows(1)
    assert page.rows() == [1290] and page.status().startswith("1 of 100 rows")
    page.page.fill("#search", "")
    page.wait_for_rows(100)
    page.page.select_option("#column", label="payment")
    some = page.rows()
    assert 478 in some and 0 < len(some) < 100
    page.page.select_option("#kind", label="a number out of its range")
    assert page.rows() == [] and page.status().startswith("0 of 100")
    page.page.select_option("#column", label="any")
    assert 0 < len(page.rows()) < 100
    page.page.select_option("#kind", label="any")
    page.page.check("#flagged")
    assert page.rows() == everything[: len(page.rows())] and 0 < len(page.rows()) < 20
    page.page.uncheck("#flagged")
    page.page.select_option("#order", label="oddest first")
    heads = page.texts("#odd thead th")
    page.page.select_option("#order", label="as in the file")
    assert sorted(heads) == sorted(page.texts("#odd thead th")) and heads != page.texts("#odd thead th")


def check_expand(page):
    first = page.page.locator("#odd .open").first
    assert first.get_attribute("aria-expanded") == "false"
    first.click()
    assert first.get_attribute("aria-expanded") == "true"
    text = page.page.inner_text(".details")
    for part in ["part of the score", "nearest usual row", "expected", "payment"]:
        assert part in text, text
    assert page.page.locator(".details .bars rect.here").count() > 0
    first.click()
    assert page.page.locator(".details").count() == 0


def check_marks(page):
    row = page.rows()[2]
    page.page.select_option(f"select[aria-label='Mark of row {row}']", "unsure")
    assert page.status().endswith("1 marked")
    page.page.reload()
    page.page.wait_for_selector("#odd tbody tr")
    assert page.status().endswith("1 marked"), "marks outlive a reload"
    name, lines = page.download("#save-marks")
    assert name == "marks.csv" and lines[0] == ["row", "mark", "score", "p_value"] and lines[1][:2] == [str(row), "unsure"]
    page.page.select_option("#mark", "unsure")
    assert page.rows() == [row]
    page.page.select_option("#mark", "")


def check_keyboard(page):
    page.page.keyboard.press("/")
    assert page.page.evaluate("document.activeElement.id") == "search"
    for _ in range(60):
        page.page.keyboard.press("Tab")
        if page.page.evaluate("document.activeElement.className") == "open":
            break
    rows = page.rows()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    assert f"Row {rows[1]:,}," in page.page.inner_text(".details h3")
    page.page.keyboard.press("o")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("f")
    page.page.keyboard.press("ArrowUp")
    page.page.keyboard.press("Escape")
    assert page.page.locator(".details").count() == 0
    _, lines = page.download("#save-marks")
    assert {tuple(line[:2]) for line in lines[1:]} >= {(str(rows[1]), "odd"), (str(rows[2]), "fine")}, lines


def check_demo(browser, path, folder):
    page = Page(browser, path.as_uri(), viewport={"width": 1280, "height": 900})
    check_sort_and_filter(page)
    check_expand(page)
    check_marks(page)
    check_keyboard(page)
    name, lines = page.download("#save-rows")
    assert name == "rows.csv" and len(lines) == 101
    assert lines[0][:7] == ["row", "score", "p_value", "anomaly", "mark", "reason_1", "reason_2"]
    page.page.locator("button.show").first.click()
    assert len(page.rows()) < 100
    page.close()

    grounds = set()
    for scheme in ["light", "dark"]:
        for kind, width in [("desk", 1280), ("phone", 390)]:
            page = Page(browser, path.as_uri(), viewport={"width": width, "height": 844}, color_scheme=scheme)
            page.page.locator("#odd .open").first.click()
            page.page.locator(".keys summary").click()
            assert page.page.evaluate("document.documentElement.scrollWidth") <= width, f"{kind}: wider than the screen"
            grounds.add((scheme, page.page.evaluate("getComputedStyle(document.body).backgroundColor")))
            check_axe(page, f"{scheme}, {kind}")
            page.page.screenshot(path=folder / f"demo-{scheme}-{kind}.png", full_page=True)
            page.close()
    assert len({ground for _, ground in grounds}) == 2, grounds

    page = Page(browser, path.as_uri())
    page.page.emulate_media(media="print")
    assert not page.page.is_visible("#tools") and page.page.is_visible("#odd .why >> nth=1")
    page.page.pdf(path=folder / "demo.pdf")
    page.close()


def check_hostile(browser, path):
    page = Page(browser, path.as_uri(), viewport={"width": 1280, "height": 900})
    for _ in range(3):
        page.page.locator("#odd .open[aria-expanded=false]").first.click()
    assert page.page.evaluate("window.pwned") is None
    assert page.page.locator("img, main script, svg[onload]").count() == 0
    text = page.page.inner_text("#odd")
    for seen in [HOSTILE[0], HOSTILE[2], HOSTILE[6], "👩‍👧", "U+202E", "U+000A"]:
        assert seen in text, seen
    assert HOSTILE[1] in page.texts("#odd thead th")
    assert "U+202E" in page.page.inner_text("h1") and "<script>" in page.page.inner_text("h1")
    assert "x" * 301 not in page.page.content()
    _, lines = page.download("#save-rows")
    cells = {cell for line in lines for cell in line}
    for value in HOSTILE:
        assert value in cells or len(value) > 300, value
    check_axe(page, "hostile")
    page.close()


def check_wide(browser, path):
    assert path.stat().st_size <= 3_000_000, path.stat().st_size
    page = Page(browser, path.as_uri(), viewport={"width": 1280, "height": 900})
    assert page.status().startswith("1,000 of 1,000 rows"), page.status()
    start = time.perf_counter()
    page.page.click("#odd thead button >> nth=7")
    page.page.wait_for_selector("#odd thead th:nth-child(8)[aria-sort]")
    sort = time.perf_counter() - start
    print(f"1,000 rows of 50 columns: {path.stat().st_size:,} bytes, opens in {page.seconds:.2f} s, sorts in {sort:.2f} s")
    assert page.seconds < 3 and sort < 3, "far slower than it should be, even on a busy machine"
    page.page.click("#more")
    assert len(page.rows()) == 200
    page.close()


class ServedPage(Page):
    """The page of a server that runs on its own."""

    first = "#model option"

    def __init__(self, browser, binary, folder, *flags, **options):
        arguments = [binary, "serve", folder / "demo.gnsm", folder / "hostile.gnsm", "--port", "0", *flags]
        self.server = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        atexit.register(self.server.kill)
        told = next(line for line in self.server.stderr if '"listening"' in line)
        self.address = f"http://{json.loads(told)['address']}/"
        self.sources = (self.address, "blob:")
        super().__init__(browser, self.address, **options)

    def close(self):
        super().close()
        self.server.terminate()
        assert self.server.wait(60) == 0
        self.server.stderr.close()


class GuardedPage(ServedPage):
    """The page of a server that asks for a token."""

    first = "#token"


def check_row(page):
    """Watches the score of a row as its cells change."""
    from playwright.sync_api import expect

    names = page.texts("#row label bdi")
    assert {"payment", "amount", "country"} <= set(names), names
    fields = dict(zip(names, page.page.locator("#row [data-column]").all()))
    assert fields["payment"].evaluate("field => field.tagName") == "SELECT"
    kinds = dict(zip(names, page.texts("#row label span")))
    assert kinds["amount"].startswith("numeric, mostly "), "a usual range"
    assert page.page.is_hidden("#token"), "no token is asked for"
    expect(page.page.locator("#score")).not_to_have_text("–")
    usual = float(page.page.inner_text("#score"))
    fields["amount"].fill("9999999")
    expect(page.page.locator("#reasons li").first).to_contain_text("amount")
    assert float(page.page.inner_text("#score")) > usual
    expect(page.page.locator("#flag")).to_have_text("yes")


def check_table(page, path, rows):
    """Gets the report of a file inside of the page, where it works as it does alone."""
    page.page.set_input_files("#file", path)
    page.page.click("text=Make the report")
    frame = page.page.frame_locator("#report")
    frame.locator("#odd tbody tr").first.wait_for()
    assert f"{rows:,}" in frame.locator("body").inner_text()
    frame.locator("#odd .open").first.click()
    frame.locator("#odd .inside").first.wait_for()
    assert page.page.evaluate("window.pwned") is None and page.page.frames[1].evaluate("window.pwned") is None


def check_served(browser, binary, folder, hostile):
    from playwright.sync_api import expect

    page = ServedPage(browser, binary, folder)
    page.page.wait_for_selector("#row label")
    check_row(page)
    check_axe(page, "the server's page")
    page.page.screenshot(path=folder / "serving.png", full_page=True)
    check_table(page, folder / "demo.csv", 1500)
    page.page.fill("#rows", "department,category\nSales,Travel\n")
    page.page.click("text=Make the report")
    expect(page.page.locator("#problem")).to_contain_text("lacks the model's column `claim`, `payment`")
    # The browser itself notes that a request was refused.
    page.problems = [problem for problem in page.problems if "status of 4" not in problem]
    page.page.fill("#rows", "")
    page.page.select_option("#model", "hostile")
    expect(page.page.locator("#row label")).to_have_count(4)
    check_table(page, hostile, 300)
    page.close()
    page = ServedPage(browser, binary, folder, color_scheme="dark", viewport={"width": 390, "height": 800})
    page.page.wait_for_selector("#row label")
    check_axe(page, "the server's page in the dark")
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "too wide for a phone"
    page.close()
    check_token(browser, binary, folder)


def check_token(browser, binary, folder):
    (folder / "token").write_text("let me in\n")
    page = GuardedPage(browser, binary, folder, "--token-file", folder / "token")
    page.page.wait_for_selector("#token:visible")
    page.page.keyboard.type("let me in")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#row label")
    assert page.page.is_hidden("#problem")
    page.problems = [problem for problem in page.problems if "status of 401" not in problem]
    page.close()


def main():
    binary, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("there is no Chromium" if os.environ.get("CI") else print("skipped: there is no Chromium; install it, or name it in CHROMIUM"))
    from playwright.sync_api import sync_playwright

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    demo, hostile, wide = folder / "demo.csv", hostile_table(folder), wide_table(folder)
    gnsm(binary, "demo", "--out", demo)
    gnsm(binary, "detect", demo, "--report", folder / "demo.html", "--save", folder / "demo.gnsm")
    gnsm(binary, "report", folder / "demo.gnsm", demo, "-o", folder / "demo-again.html")
    gnsm(binary, "detect", hostile, "--report", folder / "hostile.html", "--save", folder / "hostile.gnsm")
    gnsm(binary, "fit", wide, "-o", folder / "wide.gnsm")
    gnsm(binary, "report", folder / "wide.gnsm", wide, "--top", "1000", "-o", folder / "wide.html")
    with sync_playwright() as playwright:
        # As root, which CI often is, Chromium's sandbox does not start.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        check_demo(browser, folder / "demo.html", folder)
        Page(browser, (folder / "demo-again.html").as_uri()).close()
        check_hostile(browser, folder / "hostile.html")
        check_wide(browser, folder / "wide.html")
        check_served(browser, binary, folder, hostile)
        browser.close()
    print(f"the page works; screenshots are in {folder}")


main()
