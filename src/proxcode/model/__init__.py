"""What a fitted model does beside encoding: it is saved, searched with, extended, updated, compared with new data."""
