"""Candidate policies, channels, fusions, and the named variants."""
