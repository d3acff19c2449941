"""Settings of the master as a file, flags and variables give them; and what is refused of them."""

from __future__ import annotations

from tests.settings_file import SettingsFile

from determined_master.settings.master import SettingsError, load

HOME = {"HOME": "/home/ada"}
_FILE = SettingsFile("master.yaml", load, SettingsError, HOME)
read, errors = _FILE.read, _FILE.errors
