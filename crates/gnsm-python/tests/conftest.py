"""A small ledger with one odd row, in several kinds."""

import os

# scikit-learn checks arrays of other packages only if this is set before scipy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy  # noqa: E402
import pandas  # noqa: E402
import pytest  # noqa: E402


def ledger(n_rows=300):
    """Departments with their usual accounts and amounts; row 250 is odd."""
    draw = numpy.random.default_rng(7)
    department = draw.choice(["sales", "it", "hr"], n_rows)
    account = numpy.where(department == "sales", "travel", numpy.where(department == "it", "hardware", "training"))
    amount = draw.normal(100, 10, n_rows).round(2)
    frame = pandas.DataFrame(
        {
            "department": department,
            "account": pandas.Categorical(account),
            "amount": amount,
            "count": pandas.array(draw.integers(1, 60, n_rows), dtype="Int64"),
            "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(draw.integers(0, 300, n_rows), unit="D"),
            "approved": draw.random(n_rows) < 0.9,
        }
    )
    frame.loc[5, "amount"] = numpy.nan
    frame.loc[6, "count"] = pandas.NA
    if n_rows > 250:
        frame.loc[250, ["department", "account"]] = ["hr", "hardware"]
        frame.loc[250, "amount"] = 900.0
    frame.index = pandas.Index([f"r{place}" for place in range(n_rows)], name="key")
    return frame


@pytest.fixture
def frame():
    return ledger()


@pytest.fixture(scope="session")
def model():
    import gnsm

    return gnsm.fit(ledger())
