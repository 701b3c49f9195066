"""The benchmarks: `python -m bench --help`. What was found is in RESULTS.md."""
