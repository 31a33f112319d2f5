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
from threading import Timer, main_thread
from typing import Any

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
    try:
        with _no_interrupt_lost(), _plain_warnings():
            with displayed("starting", lines=False):
                command = getattr(import_module(f"hypergauss.cli.{module}"), function)
            command(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("Interrupted. Nothing half-written was left behind.", file=sys.stderr)  # noqa: T201
        return 130
    except BrokenPipeError:  # what reads the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"hypergauss: {_said(error)}", file=sys.stderr)  # noqa: T201
        return 1
    except (ValueError, TypeError, ImportError, HypergaussError, MemoryError) as error:
        print(f"hypergauss: {error or type(error).__name__}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


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


@contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Repeat a Ctrl-C that arrives where nothing can be raised, such as while garbage is collected."""
    otherwise = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            Timer(0.05, _interrupt).start()
        else:
            otherwise(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = otherwise


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
