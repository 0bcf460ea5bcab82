"""Speed of `gnsm serve` on the set bank: single rows beside FastAPI with uvicorn serving PyOD's ECOD, and batches of 10,000 rows
beside `gnsm score`.

    serve_speed.py GNSM DATA [SECONDS]

GNSM is a release build with the feature `serve`. Needs `wrk`, and fastapi, uvicorn, pyod, pandas and pyarrow. The client runs on the same
machine, with keep-alive. First comes the peak with 16 connections. Then each of more connections waits 1 to 19 ms between its requests,
so that about half of the peak is asked for, to see how long the slowest of a hundred requests takes. With equal pauses all connections
would ask at the same moment, and wait for each other.
"""

import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
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
PAUSE = "math.randomseed(1)\ndelay = function() return math.random(1, 19) end\n"
ARROW = "application/vnd.apache.arrow.stream"
BATCH = 10_000


def wait(address):
    for _ in range(600):
        try:
            return urllib.request.urlopen(address, timeout=1)
        except urllib.error.HTTPError:
            return None
        except OSError:
            time.sleep(0.2)
    sys.exit(f"{address} does not answer")


def load(folder, rows, port, path, seconds, connections=16, pause=False):
    script = folder / "rows.lua"
    script.write_text(LUA.format(rows=rows, path=path) + (PAUSE if pause else ""))
    arguments = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), f"http://127.0.0.1:{port}"]
    text = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))
    p99 = re.search(r"99%\s+(\S+)", text).group(1)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return rate, p99, int(bad.group(1)) if bad else 0


def arrow(table):
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def batches(port, body, seconds):
    """Rows a second in batches, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    rows, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        connection.request("POST", "/v1/models/bank/score", body, {"Content-Type": ARROW, "Accept": ARROW})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        rows += BATCH
    return rows / (time.perf_counter() - start)


def command_line(binary, folder, table):
    """Rows a second of `gnsm score`, from a file as long as ten such tables; starting and loading the model count."""
    import pyarrow

    path = folder / "rows.arrows"
    table = pyarrow.concat_tables([table] * 10)
    path.write_bytes(arrow(table))
    best = 0
    for _ in range(3):
        start = time.perf_counter()
        arguments = [binary, "score", folder / "bank.gnsm", path, "-o", folder / "scores.parquet", "-q"]
        subprocess.run(arguments, check=True)
        best = max(best, table.num_rows / (time.perf_counter() - start))
    return best


def measure_ours(binary, folder, rows, table, seconds):
    server = subprocess.Popen([binary, "serve", folder / "bank.gnsm", "--port", "18080", "-q"], stderr=subprocess.DEVNULL)
    try:
        wait("http://127.0.0.1:18080/ready")
        path = "/v1/models/bank/score"
        peak, p99, bad = load(folder, rows, 18080, path, seconds)
        print(f"gnsm serve: {peak:,.0f} requests a second, p99 {p99}, {bad} failed")
        rate, p99, bad = load(folder, rows, 18080, path, seconds, max(1, round(peak / 2 * 0.0105)), pause=True)
        print(f"at about half: {rate:,.0f} requests a second, p99 {p99}, {bad} failed")
        many = batches(18080, arrow(table.slice(0, BATCH)), seconds)
    finally:
        server.terminate()
        server.wait()
    own = command_line(binary, folder, table)
    print(f"batches of {BATCH:,} rows as Arrow: {many:,.0f} rows a second; gnsm score: {own:,.0f}; ratio {many / own:.2f}")
    return peak


def measure_rival(data, folder, rows, seconds):
    (folder / "rival.py").write_text(RIVAL.format(data=data))
    arguments = [sys.executable, "-m", "uvicorn", "rival:app", "--port", "18081", "--log-level", "warning", "--workers", "2"]
    rival = subprocess.Popen(arguments, cwd=folder)
    try:
        wait("http://127.0.0.1:18081/")
        rate, p99, bad = load(folder, rows, 18081, "/score", seconds)
    finally:
        rival.terminate()
        rival.wait()
    print(f"FastAPI, two workers, ECOD: {rate:,.0f} requests a second, p99 {p99}, {bad} failed")
    return rate


def main():
    import pyarrow.parquet

    binary, data = sys.argv[1], Path(sys.argv[2]) / "bank.parquet"
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = pyarrow.parquet.read_table(data).drop_columns(["label"])
        rows = folder / "rows.jsonl"
        rows.write_text("".join(json.dumps(row) + "\n" for row in table.slice(0, 2000).to_pylist()))
        subprocess.run([binary, "fit", data, "-o", folder / "bank.gnsm", "--label", "label", "-q"], check=True)
        ours = measure_ours(binary, folder, rows, table, seconds)
        print(f"ratio {ours / measure_rival(data, folder, rows, seconds):.1f}")


main()
