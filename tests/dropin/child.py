"""Runs one program in a process of its own.

`python child.py FILE test [ARGUMENT ...]` calls a function of a file. `python child.py FILE main` runs it as a script.
`--page` before FILE: the program shows a page in the browser; the process ends well once the page has been served.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import threading
import time
import urllib.error
import urllib.request


def watch_page() -> None:
    """Asks for the page until it is there, then ends the process."""
    address = f"http://127.0.0.1:{os.environ['GRADIO_SERVER_PORT']}/"
    while True:
        time.sleep(0.3)
        try:
            with urllib.request.urlopen(address, timeout=5) as response:
                if response.status == 200 and b"<html" in response.read().lower():
                    print("the page was served", flush=True)
                    os._exit(0)
        except (urllib.error.URLError, OSError):
            continue  # not there yet


def main(arguments: list[str]) -> None:
    if arguments[0] == "--page":
        arguments = arguments[1:]
        threading.Thread(target=watch_page, daemon=True).start()
    file, function, *given = arguments
    if function == "main":
        sys.argv = [file]
        runpy.run_path(file, run_name="__main__")
        return
    spec = importlib.util.spec_from_file_location("program", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    getattr(module, function)(*given)


if __name__ == "__main__":
    main(sys.argv[1:])
