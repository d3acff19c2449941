"""Log files that stay bounded while their writer keeps them open."""

import os
import shutil


def rotate(log: str, limit_bytes: int, keep: int) -> bool:
    """Move a log past `limit_bytes` to `<log>.1`, older ones up to `<log>.<keep>`.

    The writer has the file open for appending, so it is copied and then emptied in place;
    lines written in between (a few, once a file) are lost from the log, never from a task.

    Returns:
        Whether the log was over its limit.
    """
    try:
        if os.stat(log).st_size <= limit_bytes:
            return False
    except FileNotFoundError:
        return False
    for number in range(keep - 1, 0, -1):
        if os.path.exists(f"{log}.{number}"):
            os.replace(f"{log}.{number}", f"{log}.{number + 1}")
    shutil.copyfile(log, f"{log}.1")
    os.chmod(f"{log}.1", 0o600)
    os.truncate(log, 0)
    return True
