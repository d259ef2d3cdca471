"""One module a kind of file; each has `parse(path, ...) -> Document`, called by `rag.reading`."""
