"""The version of this distribution."""

VERSION = "0.39.0.dev0"
