"""The vector engines: embedded Qdrant, and a Qdrant server or cluster."""
