"""Incidents written from live collections, and how true a replica is."""
