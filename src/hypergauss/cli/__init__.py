"""The command line: parse, call, print. Nothing heavy is imported before it is known to be needed."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import warnings
from _thread import interrupt_main
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from signal import default_int_handler
from threading import Timer, current_thread, main_thread
from types import FrameType

from hypergauss._progress import displayed
from hypergauss.cli.parser import make_parser
from hypergauss.exceptions import HypergaussError

#: Of a disk that takes no more.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 for what went wrong, 2 for wrong usage, 130 if interrupted."""
    options = make_parser().parse_args(arguments)
    module, function = options.command
    # Where its cache can be kept is no matter of ours: without a writable home it does without.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    interrupts = _Interrupts()
    try:
        with interrupts, _plain_warnings():
            with displayed("starting", lines=False):
                command = getattr(import_module(f"hypergauss.cli.{module}"), function)
            command(options)
        sys.stdout.flush()
    except (KeyboardInterrupt, Exception) as error:
        # What is interrupted while it is imported may say that it is broken.
        if isinstance(error, KeyboardInterrupt) or interrupts.have_come:
            print("Interrupted. Nothing half-written was left behind.", file=sys.stderr)  # noqa: T201
            return 130
        return _exit_code(error)
    return 0


def _exit_code(error: Exception) -> int:
    """Say what went wrong, if it is for a user to mend, and return the exit code."""
    if isinstance(error, BrokenPipeError):  # what reads the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError):
        print(f"hypergauss: {_said(error)}", file=sys.stderr)  # noqa: T201
        return 1
    if isinstance(error, ValueError | TypeError | ImportError | HypergaussError | MemoryError):
        print(f"hypergauss: {error or type(error).__name__}", file=sys.stderr)  # noqa: T201
        return 1
    raise error


def _said(error: OSError) -> str:
    """Return a sentence of ours, or what the system says and of which file: without a name, of what is printed."""
    if error.strerror is None:
        return str(error) or type(error).__name__
    if error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}."
    if error.errno in _FULL:
        # What is still waiting to be printed would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return f"Not all could be printed: {error.strerror}. Make room, or send it elsewhere."
    return str(error)


class _Interrupts:
    """Loses no Ctrl-C: remembers that one came, whatever becomes of it, and repeats it where nothing can be raised."""

    def __init__(self) -> None:
        self.have_come = False

    def __enter__(self) -> None:
        self.unraisable = sys.unraisablehook
        sys.unraisablehook = self._repeat
        # Whoever has set a handler of their own, and any other thread, keeps theirs.
        self.is_ours = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is default_int_handler
        if self.is_ours:
            signal.signal(signal.SIGINT, self._remember)

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self.unraisable
        if self.is_ours:
            signal.signal(signal.SIGINT, default_int_handler)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.have_come = True
        default_int_handler(number, frame)

    def _repeat(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Such as while garbage is collected."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            Timer(0.05, _interrupt).start()
        else:
            self.unraisable(unraisable)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Say warnings as sentences, without the line of code that they come from."""

    def say(message: Warning | str, *_: object, **__: object) -> None:
        print(f"hypergauss: {message}", file=sys.stderr)  # noqa: T201

    with warnings.catch_warnings():
        warnings.showwarning = say
        yield


def _interrupt() -> None:
    """Interrupt the main thread, out of sleep where the system can."""
    thread = main_thread().ident
    if hasattr(signal, "pthread_kill") and thread is not None:
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        interrupt_main()
