"""Parsers, one file format a module.

Each module has one function, called by `qwen_agentkit.rag.reading` alone::

    def parse(path: Path, out: DocumentBuilder, options: ReadOptions) -> None

It reads the file and adds blocks, warnings, the title and the page count to `out` in reading order. What was added
before an error or a limit is kept; so a parser adds as it goes and does not collect. A bad page, sheet, chapter or
shape is one `out.warn(...)`; a file that cannot be read at all raises `UnsupportedFileType`, `PasswordRequired`,
`DamagedFile` or `LimitExceededInFile` of `qwen_agentkit.errors`. Zip packages are opened with
`qwen_agentkit.rag.limits.open_zip`, XML is parsed with `limits.xml_parser()`.
"""
