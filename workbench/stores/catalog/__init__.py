"""The DuckDB catalog: chunks, postings, facets and vectors."""
