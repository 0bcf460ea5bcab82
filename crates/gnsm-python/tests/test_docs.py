"""The examples of the pages run as they are written."""

import re
from pathlib import Path

import pytest
from conftest import ledger
from test_masks import spoilt, squares

ROOT = Path(__file__).resolve().parents[3]


def blocks():
    for page in ("README.md", "docs/python.md", "crates/gnsm-python/README.md"):
        text = (ROOT / page).read_text()
        found = re.findall(r"```python\n(.*?)```", text, re.S)
        assert found, page
        yield pytest.param("\n".join(found), id=page)


@pytest.mark.parametrize("code", list(blocks()))
def test_examples(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger().to_csv("claims.csv", index=False)
    masks, _ = squares()
    names = {"df": ledger(), "new": ledger(50), "masks": masks, "predicted": spoilt(masks)}
    exec(compile(code, "page", "exec"), names)
