"""What a command raises when it cannot do what it was asked."""


class CliError(Exception):
    """A failure that its text explains: the thing, the value and the remedy.

    `main` prints it after `Failed to <verb> <noun>:` and exits 1.
    """


def in_words(error: Exception) -> str:
    """An error's text; that of a failed call of the system as `'thing': reason`, or the reason."""
    if isinstance(error, OSError) and error.strerror:
        return (
            error.strerror if error.filename is None else f"'{error.filename}': {error.strerror}"
        )
    return str(error)
