"""What a command raises when it cannot do what it was asked."""


class CliError(Exception):
    """A failure that its text explains: the thing, the value and the remedy.

    `main` prints it after `Failed to <verb> <noun>:` and exits 1.
    """
