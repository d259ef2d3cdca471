"""Documents: reading, chunking, the index and search."""
