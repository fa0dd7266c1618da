"""Reports: what a model does, in pictures and plain words, as one HTML file."""
