"""Readers of real formats, chunking, and replicas of incidents."""
