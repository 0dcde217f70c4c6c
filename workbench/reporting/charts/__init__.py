"""Altair charts of comparisons and ranks."""
