# What CI runs, and nothing else, is `make check`.

.PHONY: check format test test-tables test-slow test-page fuzz golden soak report-picture lint doc package package-verify licences readme bench-tabular bench-paper bench-keel bench-adbench bench-own bench-masks bench-masks-speed bench-baselines bench-speed bench-serve bench-python check-gpu picture python python-spark python-dask notebooks bench-cells-rivals

check: format test test-page lint doc package readme python

format:
	cargo fmt --all --check

test:
	cargo test --workspace

# All that concerns tables, without the networks for masks.
test-tables:
	cargo test -p gnsm -p gnsm-cli --no-default-features

# The report pages and the page of the server in headless Chromium, with the binary of `make test`; screenshots are left
# in target/page.
test-page: target/venv-page
	cargo test --workspace --no-run
	target/venv-page/bin/python crates/gnsm-report/tests/page.py $${CARGO_TARGET_DIR:-target}/debug/gnsm target/page

target/venv-page: crates/gnsm-report/tests/requirements.txt
	python3 -m venv target/venv-page
	target/venv-page/bin/pip install --quiet -r crates/gnsm-report/tests/requirements.txt
	touch target/venv-page

# Ten million spoiled bodies for the server, and many spoiled tables for the report: none may make them panic.
fuzz:
	GNSM_FUZZ_INPUTS=$${GNSM_FUZZ_INPUTS:-10000000} GNSM_FUZZ_TABLES=$${GNSM_FUZZ_TABLES:-1000000} cargo test --release -p gnsm-serve -p gnsm-report --lib -- --ignored fuzz

# Half an hour at RATE requests a second, half of the peak on two cores, with a model replaced every second, slow
# clients, cut connections and malformed bodies.
RATE = 8000
SECONDS = 1800
soak:
	cargo build --release -p gnsm-cli -p gnsm-serve --features gnsm-cli/serve --bin gnsm --example soak
	$${CARGO_TARGET_DIR:-target}/release/examples/soak $${CARGO_TARGET_DIR:-target}/release/gnsm $${GNSM_SHARED:-../shared}/data/tabular/bank.parquet $(SECONDS) $(RATE) label

# The hashes of what is said of rows, after a change that is meant to change it.
golden:
	GNSM_UPDATE=1 cargo test --workspace what_is_said_has_the_same_bits

# The README's picture of a report, from the test of the pages.
report-picture: test-page
	cp target/page/report.png docs/report.png

# What takes too long for every change; CONTRIBUTING.md names the tests.
test-slow:
	cargo test --workspace -- --ignored --skip seeds

lint:
	cargo clippy --workspace --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --no-deps

# Packs the crates as publishing would, without building them again.
package:
	.ci/package --no-verify

# The same, and builds each crate from what was packed.
package-verify:
	.ci/package

# The licence of every package that gnsm is built from.
licences:
	@.ci/licences

# The README's commands with the binary that `make test` has built. With PROFILE=release it is installed first, which
# takes minutes.
readme:
	.ci/readme

# The Python package: builds the wheel, installs it into target/venv-python, and runs its tests. PROFILE=release builds
# it as users have it.
python:
	.ci/python

# The tests on Spark, which needs Java.
python-spark:
	.ci/python pyspark

# The tests on Dask.
python-dask:
	.ci/python 'dask[dataframe]'

# The notebooks of the Python package, top to bottom; what they show is left in target/notebooks.
notebooks:
	.ci/notebooks

# The README's picture of `gnsm detect`, from a real run.
picture:
	cargo build --release -p gnsm-cli
	python3 crates/gnsm-bench/reference/terminal_svg.py $${CARGO_TARGET_DIR:-target}/release/gnsm docs/detect.svg detect gnsm-demo.csv --top 3

# The paper's Table 2, all methods, five seeds. GNSM_SHARED names the folder with the data.
bench-tabular:
	cargo run --release -p gnsm-cli -- bench tabular --data $${GNSM_SHARED:-../shared}/data/tabular --out target/bench-tabular

# The paper's recipe in several sizes, scored on the way, and its DSVDD and DAGMM where they end within two hours:
# hours.
bench-paper:
	cargo build --release -p gnsm-cli
	cargo build --release -p gnsm-bench --example paper_curve
	python3 crates/gnsm-bench/reference/paper.py run $${GNSM_SHARED:-../shared}/data/tabular $${CARGO_TARGET_DIR:-target}/release/examples/paper_curve target/bench-paper
	$${CARGO_TARGET_DIR:-target}/release/gnsm bench tabular --data $${GNSM_SHARED:-../shared}/data/tabular --preset paper --seeds 1 --methods dsvdd --sets bank,chess,cmc,solar --out target/bench-paper/rivals
	$${CARGO_TARGET_DIR:-target}/release/gnsm bench tabular --data $${GNSM_SHARED:-../shared}/data/tabular --preset paper --seeds 1 --methods dagmm --sets bank,chess,cmc,probe,solar,u2r --out target/bench-paper/rivals

# Ordinary tables with planted oddities: how many are found, and named by the first reason.
bench-planted:
	cargo run --release -p gnsm-cli -- bench planted --out target/bench-planted

QUICK = cells,gnsm,marginals,row-count,pca,gmm,ecod,isolation-forest,knn,cbrw,homophily,ocsvm,comprex

# 83 other sets, two seeds: classes of the KEEL repository, the rarest of which is odd.
bench-keel: target/venv
	target/venv/bin/python crates/gnsm-bench/reference/keel.py target/keel
	cargo build --release -p gnsm-cli
	for part in first later; do target/release/gnsm bench tabular --data target/keel/$$part --seeds 2 --methods $(QUICK) --out target/bench-keel/$$part; done

# Ten methods on tables of numbers, two seeds: minutes.
bench-adbench:
	cargo build --release -p gnsm-cli
	target/release/gnsm bench tabular --data $${GNSM_SHARED:-../shared}/data/tabular/adbench --seeds 2 --methods cells,marginals,pca,gmm,ecod,isolation-forest,knn,cbrw,ocsvm,comprex --out target/bench-adbench

# Tables judged with their anomalies in them, beside PyOD's detectors on the same rows: half an hour.
bench-own: target/venv
	target/venv/bin/python crates/gnsm-bench/reference/keel.py target/keel
	cargo build --release -p gnsm-cli
	target/release/gnsm bench own --data $${GNSM_SHARED:-../shared}/data/tabular/adbench --tables target/bench-own/tables/adbench --out target/bench-own/adbench
	target/release/gnsm bench own --data $${GNSM_SHARED:-../shared}/data/tabular $${GNSM_SHARED:-../shared}/data/tabular/extra --tables target/bench-own/tables/tabular --out target/bench-own/tabular
	target/release/gnsm bench own --data target/keel/first target/keel/later --tables target/bench-own/tables/keel --out target/bench-own/keel
	for part in adbench tabular keel; do target/venv/bin/python crates/gnsm-bench/reference/own.py target/bench-own/tables/$$part > target/bench-own/$$part/pyod.md; done

# The paper's case study on masks, all methods, three seeds: hours on two cores.
bench-masks:
	cargo run --release -p gnsm-cli -- bench masks --data $${GNSM_SHARED:-../shared}/data/segmentation --out target/bench-masks

# A training step of the mask network beside PyTorch's.
bench-masks-speed: target/venv-speed
	cargo build --release -p gnsm-bench --example mask_step
	target/venv-speed/bin/python crates/gnsm-bench/reference/masks_speed.py target/release/examples/mask_step

# Whether the networks for masks compile for GPUs: hundreds of crates, so not part of `check`. DOCS_RS keeps a crate
# under `cuda` from fetching a compiler, which only programs that run need. Then the operations that GPUs run, on a CPU
# beside ours.
check-gpu:
	cargo check -p gnsm-masks --features vulkan
	cargo check -p gnsm-masks --features metal
	DOCS_RS=1 cargo check -p gnsm-masks --features cuda
	cargo test -p gnsm-masks --features burn-on-cpu --lib

# The classic detectors beside scikit-learn, PyOD and coupled-biased-random-walks: parity, then speed.
bench-baselines: target/venv
	cargo build --release -p gnsm-bench --example rivals
	target/venv/bin/python crates/gnsm-bench/reference/rivals.py parity $${GNSM_SHARED:-../shared}/data/tabular
	target/venv/bin/python crates/gnsm-bench/reference/rivals.py walks $${GNSM_SHARED:-../shared}/data/tabular
	target/venv/bin/python crates/gnsm-bench/reference/rivals.py components $${GNSM_SHARED:-../shared}/data/tabular/adbench
	target/venv/bin/python crates/gnsm-bench/reference/rivals.py speed $${GNSM_SHARED:-../shared}/data/tabular

# The cells that are listed in dirty tables, beside Raha and the baselines of its package.
bench-cells-rivals: target/venv-cells
	cargo build --release -p gnsm-cli
	target/venv-cells/bin/python crates/gnsm-bench/reference/cells_rivals.py $${GNSM_SHARED:-../shared}/data/dirty $${CARGO_TARGET_DIR:-target}/release/gnsm

target/venv-cells: crates/gnsm-bench/reference/requirements-cells.txt
	python3 -m venv target/venv-cells
	target/venv-cells/bin/pip install --quiet -r crates/gnsm-bench/reference/requirements-cells.txt
	touch target/venv-cells

# Speed and memory beside PyTorch and pyarrow; `ARGUMENTS="--only step --threads 1"` repeats one figure.
bench-speed: target/venv-speed
	cargo build --release -p gnsm-cli -p gnsm-bench --bin gnsm --example speed
	target/venv-speed/bin/python crates/gnsm-bench/reference/speed.py $${GNSM_SHARED:-../shared}/data/tabular $(ARGUMENTS)

# The server beside FastAPI with uvicorn and PyOD; needs `wrk`.
bench-serve: target/venv-serve
	cargo build --release -p gnsm-cli --features serve
	target/venv-serve/bin/python crates/gnsm-bench/reference/serve_speed.py $${CARGO_TARGET_DIR:-target}/release/gnsm $${GNSM_SHARED:-../shared}/data/tabular

# The Python classes beside PyOD's and scikit-learn's, from the same pandas frame.
bench-python:
	PROFILE=release .ci/python
	$${CARGO_TARGET_DIR:-target}/venv-python/bin/python crates/gnsm-bench/reference/python_speed.py $${GNSM_SHARED:-../shared}/data/tabular $(ARGUMENTS)

target/venv-serve: crates/gnsm-bench/reference/requirements-serve.txt
	python3 -m venv target/venv-serve
	target/venv-serve/bin/pip install --quiet -r crates/gnsm-bench/reference/requirements-serve.txt
	touch target/venv-serve

target/venv-speed: crates/gnsm-bench/reference/requirements-speed.txt
	python3 -m venv target/venv-speed
	target/venv-speed/bin/pip install --quiet -r crates/gnsm-bench/reference/requirements-speed.txt
	touch target/venv-speed

# Those of the second file pin other versions of the same libraries, and work with these.
target/venv: crates/gnsm-bench/reference/requirements.txt crates/gnsm-bench/reference/requirements-alone.txt
	python3 -m venv target/venv
	target/venv/bin/pip install --quiet -r crates/gnsm-bench/reference/requirements.txt
	target/venv/bin/pip install --quiet --no-deps -r crates/gnsm-bench/reference/requirements-alone.txt
	touch target/venv
