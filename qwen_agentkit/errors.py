"""Errors of the package.

    QwenAgentKitError
    ├── ModelServiceError      a model could not answer: .code .message .extra .exception
    ├── ToolServiceError       a tool's service failed; the loop tells the model, a direct call raises
    ├── DocParserError         a document could not be read
    │   ├── UnsupportedFileType
    │   ├── PasswordRequired
    │   ├── DamagedFile
    │   ├── LimitExceededInFile
    │   └── EmptyDocument      (a scan with no text layer, a file without content)
    ├── ToolArgumentsError     a model's arguments do not fit a tool's parameters (also a ValueError)
    ├── KeyNotExistsError      `storage` has nothing under that key (also a ValueError)
    ├── RunLimitExceeded       a limit of the run was reached with on_limit="raise": .which .partial
    ├── RunCancelled           the run's cancel token was set; agents end normally, direct model calls raise it
    ├── HistoryError           a message list breaks the rules of a history (also a ValueError)
    └── MissingDependencyError an optional package is not installed (also an ImportError)

A caller's mistake is a plain ValueError or TypeError that says what was given and what was wanted.
"""

from __future__ import annotations

from typing import Any


class QwenAgentKitError(Exception):
    """Root of every error that the package defines."""


class _ServiceError(QwenAgentKitError):
    """An error with the four attributes that Qwen-Agent programs read.

    Args:
        exception: The error underneath, if any.
        code: HTTP status or the service's own code, as text.
        message: What went wrong, for a person.
        extra: Further facts, JSON-able.
    """

    def __init__(
        self,
        exception: BaseException | None = None,
        code: str | None = None,
        message: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        if message is None and exception is not None:
            message = str(exception) or type(exception).__name__
        super().__init__(message if code is None else f"{message} (code {code})")
        self.exception = exception
        self.code = code
        self.message = message
        self.extra = extra

    def __reduce__(self):  # keeps the attributes through pickle and deepcopy
        return type(self), (self.exception, self.code, self.message, self.extra)


class ModelServiceError(_ServiceError):
    """A model could not answer. The text names the model, the address, the status and the likely mend."""


class ToolServiceError(_ServiceError):
    """A tool's service failed."""


class DocParserError(_ServiceError):
    """A document could not be read."""


class UnsupportedFileType(DocParserError):
    """The content is of a kind that cannot be read here."""


class PasswordRequired(DocParserError):
    """The document is encrypted and the password given (or none) does not open it."""


class DamagedFile(DocParserError):
    """The file is not a valid file of its kind."""


class LimitExceededInFile(DocParserError):
    """Reading would take more memory, time, pages or text than allowed."""


class EmptyDocument(DocParserError):
    """There is no text in the document (a scan without a text layer, an empty file)."""


class ToolArgumentsError(QwenAgentKitError, ValueError):
    """A model's arguments do not fit a tool's parameters; the text is one line, made to be sent to the model."""


class KeyNotExistsError(QwenAgentKitError, ValueError):
    """Nothing is stored under that key."""


class RunLimitExceeded(QwenAgentKitError):
    """A limit of the run was reached.

    Args:
        which: `model_calls`, `tool_calls`, `tokens`, `seconds` or `cost`.
        message: What the limit was.
        partial: The response so far, a list of messages.
    """

    def __init__(self, which: str, message: str, partial: list | None = None) -> None:
        super().__init__(message)
        self.which = which
        self.message = message
        self.partial = partial if partial is not None else []

    def __reduce__(self):
        return type(self), (self.which, self.message, self.partial)


class RunCancelled(QwenAgentKitError):
    """The cancel token of the run was set."""


class HistoryError(QwenAgentKitError, ValueError):
    """A message list breaks the rules of a history; `problems` lists each, one line."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems

    def __reduce__(self):
        return type(self), (self.problems,)


class MissingDependencyError(QwenAgentKitError, ImportError):
    """An optional package is needed and not installed; the text gives the pip command."""
