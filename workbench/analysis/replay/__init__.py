"""Logs of queries run through variants."""
