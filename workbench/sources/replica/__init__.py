"""Replicas of incidents: a whole collection made from a small file, exactly as its counts say, by a seed."""
