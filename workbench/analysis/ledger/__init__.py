"""Decision records: claims, runs, verdicts, and figures of a text held to them."""
