# What CI runs, and nothing else, is `make check`.

.PHONY: check format lint test doc readme bench-tabular

check: format lint test doc readme

format:
	cargo fmt --all --check

lint:
	cargo clippy --workspace --all-targets -- -D warnings

test:
	cargo test --workspace

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --no-deps

readme:
	.ci/readme

# The paper's Table 2, all methods, five seeds. GNSM_SHARED names the folder with the data.
bench-tabular:
	cargo run --release -p gnsm-cli -- bench tabular --data $${GNSM_SHARED:-../shared}/data/tabular --out target/bench-tabular
