"""Failures of the web UI's build, each with an exit code and one line for people."""

from __future__ import annotations


class BuildError(Exception):
    """The sources cannot be built."""

    exit_code = 1


class MissingTools(BuildError):
    """Node or the packages of the web UI cannot be had: the sources may be good."""

    exit_code = 3
