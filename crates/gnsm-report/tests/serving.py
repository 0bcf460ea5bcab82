"""The page of `gnsm serve`: a table, one row, a token."""

import atexit
import json
import subprocess

from browser import Page


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
    assert fields["payment"].input_value() == "Company card", "it begins with common values"
    fields["amount"].fill("9999999")
    expect(page.page.locator("#reasons li").first).to_contain_text("amount")
    assert float(page.page.inner_text("#score")) > usual
    expect(page.page.locator("#flag")).to_have_text("yes")


def check_table(page, path, rows):
    """Gets the report of a file inside of the page, where it works as it does alone."""
    from playwright.sync_api import expect

    page.page.set_input_files("#file", path)
    page.page.click("text=Make the report")
    frame = page.page.frame_locator("#report")
    # The report of another file may still be there.
    expect(frame.locator(".tiles dd").first).to_have_text(f"{rows:,}")
    frame.locator("#odd tbody tr").first.wait_for()
    frame.locator("#odd .open").first.click()
    frame.locator("#odd .inside").first.wait_for()
    assert page.page.evaluate("window.pwned") is None and page.page.frames[1].evaluate("window.pwned") is None


def check_refusal(page):
    from playwright.sync_api import expect

    page.page.fill("#rows", "department,category\nSales,Travel\n")
    page.page.click("text=Make the report")
    expect(page.page.locator("#problem")).to_contain_text("lacks the model's column `claim`, `payment`")
    # The browser itself notes that a request was refused.
    page.problems = [problem for problem in page.problems if "status of 4" not in problem]
    page.page.fill("#rows", "")


def check_token(browser, binary, folder):
    (folder / "token").write_text("let me in\n")
    page = GuardedPage(browser, binary, folder, "--token-file", folder / "token")
    page.page.wait_for_selector("#token:visible")
    page.page.keyboard.type("let me in")
    page.press("Enter")
    page.page.wait_for_selector("#row label")
    assert page.page.is_hidden("#problem")
    page.problems = [problem for problem in page.problems if "status of 401" not in problem]
    page.close()


def check_served(browser, binary, folder, hostile):
    from playwright.sync_api import expect

    page = ServedPage(browser, binary, folder, viewport={"width": 1280, "height": 900})
    page.page.wait_for_selector("#row label")
    check_row(page)
    page.check_looks("the server's page", folder / "serving-light-desk.png")
    check_table(page, folder / "demo.csv", 1500)
    page.page.screenshot(path=folder / "serving-report.png", full_page=True)
    check_refusal(page)
    page.page.select_option("#model", "hostile")
    expect(page.page.locator("#row label")).to_have_count(4)
    check_table(page, hostile, 300)
    page.close()
    page = ServedPage(browser, binary, folder, color_scheme="dark", viewport={"width": 390, "height": 800})
    page.page.wait_for_selector("#row label")
    check_row(page)
    page.check_looks("the server's page in the dark", folder / "serving-dark-phone.png")
    page.close()
    check_token(browser, binary, folder)
