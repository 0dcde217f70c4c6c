"""Measures of the shipped records: each function measures one claim and is named in its record’s TOML."""
