# What CI runs, and nothing else, is `make check`.

.PHONY: check format lint test doc readme

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
