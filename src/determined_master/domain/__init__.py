"""Pure decision logic: functions take frozen values and return frozen values."""
