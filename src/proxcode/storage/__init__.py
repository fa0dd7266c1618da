"""Model files and atomic file writes; knows nothing of what is stored."""
