"""A pseudo-terminal in which a command runs, is watched, and gets Ctrl-C as a person gives it."""

import os
import pty
import select
import signal
import sys
import time
from typing import NamedTuple

CTRL_C = b"\x03"
#: Seconds after which a command counts as hanging.
PATIENCE = 120.0


class Ended(NamedTuple):
    """How a command ended: its exit code as a shell would say it, seconds since Ctrl-C, and all that was shown."""

    code: int
    seconds: float
    shown: str


def interrupted(arguments, *, after=0.0, once_shown=b""):
    """Run `hypergauss` with some arguments, press Ctrl-C some seconds after a text was shown, and wait for the end."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
        code = "import sys; from hypergauss.cli import main; sys.exit(main())"
        os.execv(sys.executable, [sys.executable, "-c", code, *map(str, arguments)])
    shown, pressed, start = b"", None, None if once_shown else time.monotonic()
    deadline = time.monotonic() + PATIENCE
    status = None
    while status is None and time.monotonic() < deadline:
        shown += _read(terminal)
        if start is None and once_shown in shown:
            start = time.monotonic()
        if pressed is None and start is not None and time.monotonic() >= start + after:
            os.write(terminal, CTRL_C)
            pressed = time.monotonic()
        ended, found = os.waitpid(pid, os.WNOHANG)
        status = found if ended else None
    if status is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise AssertionError(f"It did not end: {shown[-500:]!r}")
    seconds = time.monotonic() - (pressed or time.monotonic())
    shown += _read(terminal)
    os.close(terminal)
    code = os.waitstatus_to_exitcode(status)
    return Ended(128 - code if code < 0 else code, seconds, shown.decode(errors="replace"))


def _read(terminal):
    """Return what is shown within a moment, or nothing."""
    ready, _, _ = select.select([terminal], [], [], 0.01)
    try:
        return os.read(terminal, 65536) if ready else b""
    except OSError:  # the other side has closed
        return b""
