"""Report pages: one HTML file each, which opens without network."""
