"""Drives the report page in headless Chromium, as a person would: open, sort, filter, expand, mark, download, by keyboard alone, in
the dark, on a phone, on paper. Then the page on masks, and that of `gnsm serve`. `make test-page` runs it.

    page.py GNSM FOLDER

GNSM is the binary, FOLDER is where tables, pages and screenshots are left. Where Chromium is missing it says so and does nothing,
unless the variable CI is set: then that is an error.
"""

import shutil
import sys
import time
from pathlib import Path

import material
from browser import Page, find_chromium
from material import HOSTILE
from serving import check_served

DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


def check_sort(page):
    everything = page.rows()
    assert len(everything) == 100, page.status()
    scores = [float(text) for text in page.texts("#odd tbody tr td:nth-child(2)")]
    assert scores == sorted(scores, reverse=True)
    amounts = lambda: [float(text.split()[0]) for text in page.texts("#odd tbody tr td:last-child")]
    page.page.click("#odd thead button:has-text('amount')")
    assert page.page.get_attribute("#odd thead th:last-child", "aria-sort") == "descending"
    assert amounts() == sorted(amounts(), reverse=True)
    page.page.click("#odd thead button:has-text('amount')")
    assert amounts() == sorted(amounts())
    page.page.click("#odd thead button:has-text('score')")
    assert page.rows() == everything


def check_filter(page):
    everything = page.rows()
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
    for part in ["of the score", "nearest usual row", "expected", "payment", "here: Cash", "Company card", "anything else"]:
        assert part in text, text
    bars = page.page.locator(".details .bars").first
    assert bars.locator("rect.seen").count() == 1 and bars.locator("rect.here").count() >= 2
    assert bars.locator("tr", has_text="here: Cash").locator(".share").inner_text() == "under 0.01 %"
    first.click()
    assert page.page.locator(".details").count() == 0
    # A number has its range beside it.
    page.page.select_option("#kind", label="a number out of its range")
    page.page.locator("#odd .open").first.click()
    assert "or further out" in page.page.inner_text(".details") and "90 %" in page.page.inner_text(".details")
    page.page.locator("#odd .open").first.click()
    page.page.select_option("#kind", label="any")


def check_marks(page):
    row = page.rows()[2]
    page.page.select_option(f"select[aria-label='Mark of row {row}']", "unsure")
    assert page.status().endswith("1 marked")
    page.page.reload()
    page.page.wait_for_selector("#odd tbody tr")
    assert page.status().endswith("1 marked"), "marks outlive a reload"
    name, lines = page.download(lambda: page.page.click("#save-marks"))
    assert name == "marks.csv" and lines[0] == ["row", "mark", "score", "p_value"] and lines[1][:2] == [str(row), "unsure"]
    page.page.select_option("#mark", "unsure")
    assert page.rows() == [row]
    name, lines = page.download(lambda: page.page.click("#save-rows"))
    assert name == "rows.csv" and len(lines) == 2 and lines[1][0] == str(row) and lines[1][4] == "unsure"
    page.page.select_option("#mark", "")
    _, lines = page.download(lambda: page.page.click("#save-rows"))
    assert len(lines) == 101
    assert lines[0][:7] == ["row", "score", "p_value", "anomaly", "mark", "reason_1", "reason_2"]


def check_keyboard(browser, path):
    """Sorts, filters, opens, marks and downloads without a mouse."""
    page = Page(browser, path.as_uri(), viewport=DESK)
    page.press("/")
    assert page.focused() == "search"
    page.page.keyboard.type("meals")
    page.wait_for_fewer_rows(100)
    page.press("Control+a", "Delete")
    page.wait_for_rows(100)
    page.tab_to(lambda: page.focused() == "kind")
    page.page.keyboard.type("a number")
    page.wait_for_fewer_rows(100)
    page.press("Home")
    page.wait_for_rows(100)
    page.tab_to(lambda: page.focused("textContent") == "amount")
    page.press("Enter")
    assert page.page.get_attribute("#odd thead th:last-child", "aria-sort") == "descending"
    assert page.focused("textContent") == "amount", "the focus stays"
    page.tab_to(lambda: page.focused("className") == "open")
    rows = page.rows()
    page.press("ArrowDown", "Enter")
    assert f"Row {rows[1]:,}," in page.page.inner_text(".details h3")
    page.press("o", "ArrowDown", "f", "ArrowUp", "Escape")
    assert page.page.locator(".details").count() == 0
    page.press("/")
    page.tab_to(lambda: page.focused() == "save-marks")
    _, lines = page.download(lambda: page.press("Enter"))
    assert {tuple(line[:2]) for line in lines[1:]} == {(str(rows[1]), "odd"), (str(rows[2]), "fine")}, lines
    page.close()


def check_looks(browser, path, folder):
    grounds = set()
    for scheme in ["light", "dark"]:
        for kind, size in [("desk", DESK), ("phone", PHONE)]:
            page = Page(browser, path.as_uri(), viewport=size, color_scheme=scheme)
            page.page.locator("#odd .open").first.click()
            page.page.locator(".keys summary").click()
            grounds.add(page.page.evaluate("getComputedStyle(document.body).backgroundColor"))
            page.check_looks(f"{scheme}, {kind}", folder / f"demo-{scheme}-{kind}.png")
            page.close()
    assert len(grounds) == 2, grounds


def draw_picture(browser, path, folder):
    """The README's picture."""
    page = Page(browser, path.as_uri(), viewport={"width": 1280, "height": 900}, color_scheme="light")
    page.page.locator("#odd .open").first.click()
    page.page.locator("#rows").evaluate("part => part.scrollIntoView()")
    page.page.screenshot(path=folder / "report.png")
    page.close()


def check_print(browser, path, folder):
    page = Page(browser, path.as_uri(), color_scheme="dark")
    page.page.emulate_media(media="print")
    assert not page.page.is_visible("#tools") and page.page.is_visible("#odd .why >> nth=1")
    ground = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)", "paper is white, whatever the screen is"
    page.page.pdf(path=folder / "demo.pdf")
    page.page.screenshot(path=folder / "demo-print.png", full_page=True)
    page.close()


def check_demo(browser, folder):
    path = folder / "demo.html"
    page = Page(browser, path.as_uri(), viewport=DESK)
    check_sort(page)
    check_filter(page)
    check_expand(page)
    check_marks(page)
    page.page.locator("button.show").first.click()
    assert len(page.rows()) < 100
    page.close()
    check_keyboard(browser, path)
    check_looks(browser, path, folder)
    check_print(browser, path, folder)
    draw_picture(browser, path, folder)


def check_moved(browser, folder):
    """Drift is the first thing of the summary, and leads to the columns."""
    page = Page(browser, (folder / "moved.html").as_uri(), viewport=DESK)
    first = page.page.locator("#summary > :not(h2)").first.inner_text()
    for part in ["3 of 7 columns have moved", "country", "no part of the scores", "missing in "]:
        assert part in first, first
    page.page.click(".drift a:has-text('country')")
    assert "country" in page.page.locator("article:target").inner_text()
    page.check_looks("drift", folder / "moved-light-desk.png")
    page.close()


def check_hostile(browser, folder):
    page = Page(browser, (folder / "hostile.html").as_uri(), viewport=DESK)
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
    _, lines = page.download(lambda: page.page.click("#save-rows"))
    cells = {cell for line in lines for cell in line}
    for value in HOSTILE:
        assert value in cells or len(value) > 300, value
    page.check_looks("hostile", folder / "hostile-light-desk.png", has_long_words=True)
    page.close()


def check_wide(browser, folder):
    path = folder / "wide.html"
    assert path.stat().st_size <= 3_000_000, path.stat().st_size
    page = Page(browser, path.as_uri(), viewport=DESK)
    assert page.status().startswith("1,000 of 1,000 rows"), page.status()
    start = time.perf_counter()
    page.page.click("#odd thead button >> nth=7")
    page.page.wait_for_selector("#odd thead th:nth-child(8)[aria-sort]")
    sort = time.perf_counter() - start
    print(f"1,000 rows of 50 columns: {path.stat().st_size:,} bytes, opens in {page.seconds:.2f} s, sorts in {sort:.2f} s")
    assert page.seconds < 5 and sort < 5, "far slower than it should be, even on a busy machine"
    page.page.click("#more")
    assert len(page.rows()) == 200
    page.page.screenshot(path=folder / "wide-light-desk.png")
    page.close()


class MaskPage(Page):
    first = ".masks article"


def check_masks(browser, folder):
    for scheme, kind, size in [("light", "desk", DESK), ("dark", "phone", PHONE)]:
        page = MaskPage(browser, (folder / "masks.html").as_uri(), viewport=size, color_scheme=scheme)
        assert page.texts(".tiles dd")[:2] == ["6", "2 33 %"], page.texts(".tiles dd")
        assert page.page.locator(".masks img").count() == 16 and page.page.locator(".masks .missing").count() == 2
        page.check_looks(f"masks, {scheme}", folder / f"masks-{scheme}-{kind}.png")
        page.close()


def main():
    binary, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    chromium = find_chromium()
    from playwright.sync_api import sync_playwright

    start = time.perf_counter()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    hostile = material.make(binary, folder)
    print(f"made the pages in {time.perf_counter() - start:.0f} s")
    with sync_playwright() as playwright:
        # As root, which CI often is, Chromium's sandbox does not start.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        check_demo(browser, folder)
        check_moved(browser, folder)
        check_hostile(browser, folder)
        check_wide(browser, folder)
        check_masks(browser, folder)
        check_served(browser, binary, folder, hostile)
        browser.close()
    print(f"the pages work ({time.perf_counter() - start:.0f} s); screenshots are in {folder}")


main()
