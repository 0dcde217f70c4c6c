"""Explain, evaluate, compare, and the claims ledger."""
