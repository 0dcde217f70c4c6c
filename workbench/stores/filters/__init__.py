"""What a filter value means, and filters as SQL and as Qdrant conditions."""
