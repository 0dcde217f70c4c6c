"""Recorded calls: fingerprints, tiers, the cascade and its review queue."""
