"""Judged queries, metrics, comparisons, tuning and judging."""
