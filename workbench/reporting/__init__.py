"""Charts, widgets, the notebook launcher and self-contained report pages."""
