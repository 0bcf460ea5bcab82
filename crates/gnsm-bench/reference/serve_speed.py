"""Single-row requests a second: `gnsm serve` beside FastAPI with uvicorn serving PyOD's ECOD, on the same rows of the set bank.

    serve_speed.py GNSM DATA [SECONDS]

Needs `wrk`, and fastapi, uvicorn, pyod, pandas and pyarrow. The client runs on the same machine, with keep-alive and 16 connections. Then
`gnsm serve` is asked at half of its peak, to see how long the slowest of a hundred requests takes.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

RIVAL = '''
import json
import numpy as np, pandas as pd
from fastapi import FastAPI, Request
from pyod.models.ecod import ECOD

table = pd.read_parquet("{data}").drop(columns=["label"])
kinds = {{c: table[c].astype("category").cat.categories for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])}}
codes = {{c: {{v: i for i, v in enumerate(kinds[c])}} for c in kinds}}

def encode(row):
    return [float(codes[c].get(row[c], -1)) if c in codes else float(row[c]) for c in table.columns]

model = ECOD().fit(np.array([encode(row) for row in table.to_dict("records")]))
app = FastAPI()

@app.post("/score")
async def score(request: Request):
    row = await request.json()
    return {{"score": float(model.decision_function(np.array([encode(row)]))[0])}}
'''

LUA = """
local rows = {{}}
for line in io.lines("{rows}") do rows[#rows + 1] = line end
local at = 0
local headers = {{ ["Content-Type"] = "application/json" }}
request = function()
  at = at % #rows + 1
  return wrk.format("POST", "{path}", headers, rows[at])
end
"""


def wait(address):
    for _ in range(600):
        try:
            return urllib.request.urlopen(address, timeout=1)
        except urllib.error.HTTPError:
            return None
        except OSError:
            time.sleep(0.2)
    sys.exit(f"{address} does not answer")


def load(folder, rows, port, path, seconds, connections=16):
    script = folder / "rows.lua"
    script.write_text(LUA.format(rows=rows, path=path))
    arguments = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), f"http://127.0.0.1:{port}"]
    text = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))
    p99 = re.search(r"99%\s+(\S+)", text).group(1)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return rate, p99, int(bad.group(1)) if bad else 0


def main():
    import pandas as pd

    binary, data = sys.argv[1], Path(sys.argv[2]) / "bank.parquet"
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = pd.read_parquet(data).drop(columns=["label"])
        rows = folder / "rows.jsonl"
        rows.write_text("".join(json.dumps(row) + "\n" for row in table.head(2000).to_dict("records")))
        subprocess.run([binary, "fit", data, "-o", folder / "bank.gnsm", "--label", "label", "-q"], check=True)
        server = subprocess.Popen([binary, "serve", folder / "bank.gnsm", "--port", "18080", "-q"], stderr=subprocess.DEVNULL)
        try:
            wait("http://127.0.0.1:18080/ready")
            ours, p99, bad = load(folder, rows, 18080, "/v1/models/bank/score", seconds)
            one, one_p99, _ = load(folder, rows, 18080, "/v1/models/bank/score", seconds, 1)
        finally:
            server.terminate()
            server.wait()
        print(f"gnsm serve: {ours:,.0f} requests a second, p99 {p99}, {bad} failed; one connection: {one:,.0f}, p99 {one_p99}")
        (folder / "rival.py").write_text(RIVAL.format(data=data))
        arguments = [sys.executable, "-m", "uvicorn", "rival:app", "--port", "18081", "--log-level", "warning", "--workers", "2"]
        rival = subprocess.Popen(arguments, cwd=folder)
        try:
            wait("http://127.0.0.1:18081/")
            theirs, p99, bad = load(folder, rows, 18081, "/score", seconds)
        finally:
            rival.terminate()
            rival.wait()
        print(f"FastAPI, two workers, ECOD: {theirs:,.0f} requests a second, p99 {p99}, {bad} failed")
        print(f"ratio {ours / theirs:.1f}")


main()
