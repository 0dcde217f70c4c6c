"""Why a document ranks where it does, and what would change it."""
