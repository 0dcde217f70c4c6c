"""The notes search: its old path, the stopgap and the rebuilt one, on DuckDB and SQLite, every byte counted."""
