"""Model files and atomic file writes."""
