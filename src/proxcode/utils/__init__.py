"""Helpers shared by all packages: validation, blocks of rows, HTML summaries."""
