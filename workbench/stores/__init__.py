"""Two stores, one truth: DuckDB for what is counted and joined, Qdrant for what the records measured on it."""
