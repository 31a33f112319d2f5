"""A pseudo-terminal in which a command runs, is watched, and gets Ctrl-C as a person gives it."""

import os
import pty
import select
import subprocess
import sys
import time
from typing import NamedTuple

CTRL_C = b"\x03"
#: Seconds after which a command counts as hanging.
PATIENCE = 120.0
#: What runs there. It takes the terminal for its own, so that Ctrl-C reaches it, and hears it even where the test run
#: is in the background and ignores it.
COMMAND = """
import fcntl, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
from hypergauss.cli import main
sys.exit(main())
"""


class Ended(NamedTuple):
    """How a command ended: its exit code as a shell would say it, seconds since Ctrl-C, and all that was shown."""

    code: int
    seconds: float
    shown: str


def interrupted(arguments, *, after=0.0, once_shown=b""):
    """Run `hypergauss` with some arguments, press Ctrl-C some seconds after a text was shown, and wait for the end."""
    # A new process, not a fork of this one: other tests may have started threads here.
    terminal, inside = pty.openpty()
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    running = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    shown, pressed, start = b"", None, None if once_shown else time.monotonic()
    deadline = time.monotonic() + PATIENCE
    while running.poll() is None and time.monotonic() < deadline:
        shown += _read(terminal)
        if start is None and once_shown in shown:
            start = time.monotonic()
        if pressed is None and start is not None and time.monotonic() >= start + after:
            os.write(terminal, CTRL_C)
            pressed = time.monotonic()
    if running.returncode is None:
        running.kill()
        running.wait()
        raise AssertionError(f"It did not end: {shown[-500:]!r}")
    seconds = time.monotonic() - (pressed or time.monotonic())
    shown += _read(terminal)
    os.close(terminal)
    code = running.returncode
    return Ended(128 - code if code < 0 else code, seconds, shown.decode(errors="replace"))


def _read(terminal):
    """Return what is shown within a moment, or nothing."""
    ready, _, _ = select.select([terminal], [], [], 0.01)
    try:
        return os.read(terminal, 65536) if ready else b""
    except OSError:  # the other side has closed
        return b""
