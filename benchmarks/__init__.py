"""Speed, as ratios in one run: `python -m benchmarks [names…]` writes results.json and README.md here."""
