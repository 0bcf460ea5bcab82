"""A page in headless Chromium, and what every page has to be."""

import csv
import os
import shutil
import sys
import time

# Words that are broken although they would fit on a line of their own, and texts that are too small to read.
BROKEN = """selector => {
  const broken = [];
  for (const node of document.querySelectorAll(selector)) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let text; (text = walker.nextNode());) {
      for (const word of text.data.matchAll(/[\\p{L}\\p{N}.]+/gu)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        if (word[0].length <= 16 && range.getClientRects().length > 1) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""
TINY = """() => [...document.querySelectorAll("body *")]
  .filter(node => [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim() !== ""))
  .filter(node => node.checkVisibility() && parseFloat(getComputedStyle(node).fontSize) < 11)
  .map(node => node.tagName + " " + node.textContent.slice(0, 40))"""


def find_chromium():
    """Its path. Where there is none the program ends: in CI with an error."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        if os.environ.get("CI"):
            sys.exit("there is no Chromium; install the package chromium")
        print("skipped: there is no Chromium; install the package chromium, or name the program in CHROMIUM")
        sys.exit(0)
    return chromium


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

    def wait_for_fewer_rows(self, count):
        from playwright.sync_api import expect

        expect(self.page.locator("#odd .open")).not_to_have_count(count)

    def status(self):
        return self.page.inner_text("#status")

    def focused(self, what="id"):
        return self.page.evaluate(f"document.activeElement.{what}")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, is_there):
        """Goes on with the tabulator key until something is focused."""
        for _ in range(80):
            self.press("Tab")
            if is_there():
                return
        raise AssertionError("the tabulator key does not lead there")

    def download(self, act):
        with self.page.expect_download() as found:
            act()
        with open(found.value.path(), newline="", encoding="utf-8") as file:
            return found.value.suggested_filename, list(csv.reader(file))

    def check_looks(self, name, picture, has_long_words=False):
        """Nothing serious for axe-core, nothing wider than the screen, no broken words, no tiny texts. Leaves a screenshot."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        bad = [v for v in found if v["impact"] in ("serious", "critical")]
        text = [(v["id"], [(n["target"], n.get("failureSummary", "")[:300]) for n in v["nodes"][:3]]) for v in bad]
        assert not bad, f"{name}: {text}"
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: wider than the screen"
        broken = self.page.evaluate(BROKEN, "td, th, li, .tiles dd, label, button")
        assert has_long_words or not broken, f"{name}: broken words {broken[:9]}"
        tiny = self.page.evaluate(TINY)
        assert not tiny, f"{name}: tiny texts {tiny[:9]}"
        self.page.screenshot(path=picture, full_page=True)

    def close(self):
        assert not self.problems, self.problems
        self.context.close()
