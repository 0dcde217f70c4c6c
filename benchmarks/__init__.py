"""Speed, as ratios in one run: `python -m benchmarks [names…]` writes results.json and README.md here."""

import os

# NumPy's threads spin for some 25 ms after a product, on cores that the side measured next needs; so they sleep at once.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
