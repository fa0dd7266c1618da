"""Progress of long work on standard error: a bar on a terminal, elsewhere a line from time to time."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import wraps
from typing import Any, Self, TextIO, TypeVar

# Shortest time between two lines, in seconds.
INTERVAL = 10.0
# Errors of a terminal or a reader of a pipe that is gone, and of a closed file.
GONE = (OSError, ValueError)

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])

# Whether passes over samples show their progress: those of a fit with `verbose`.
_is_verbose: ContextVar[bool] = ContextVar("is_verbose", default=False)


class ProgressDisplay:
    """Context manager that shows how much of some work is done.

    A line is written at most every `INTERVAL` seconds: short work writes none.

    Parameters
    ----------
    verb : str
        What was done to the finished part, such as "encoded".
    unit : str
        What is counted, in the plural.
    total : int or None
        Amount of work; None if it is not known.
    done : int, default=0
        Amount that was finished before, which does not enter the estimate of the time left.
    shown : bool, default=True
        False shows nothing.
    file : text file, default=None
        None is standard error.
    clock : callable, default=None
        Returns the time in seconds; None is `time.monotonic`.

    Examples
    --------
    >>> times = iter([0.0, 20.0])
    >>> with ProgressDisplay("encoded", "rows", 5_000_000, file=sys.stdout, clock=lambda: next(times)) as progress:
    ...     progress.update(1_000_000)
    encoded 1,000,000 of 5,000,000 rows, 80 s left
    """

    def __init__(
        self,
        verb: str,
        unit: str,
        total: int | None = None,
        *,
        done: int = 0,
        shown: bool = True,
        file: TextIO | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.verb, self.unit, self.total, self.done = verb, unit, total, done
        self._file = sys.stderr if file is None else file
        self._clock = time.monotonic if clock is None else clock
        # Standard error is None where a program runs without one.
        self._is_shown = shown and self._file is not None
        self._bar: Any = None

    def __enter__(self) -> Self:
        self._start = self._last = self._clock()
        self._done_before = self.done
        if self._is_shown and self._file.isatty():
            from tqdm import tqdm

            with suppress(*GONE):
                self._bar = tqdm(total=self.total, initial=self.done, unit=f" {self.unit}", file=self._file)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            with suppress(*GONE):
                self._bar.close()

    def update(self, n: int = 1, note: str = "") -> None:
        """Add `n` to the work done, and show it if it is time to; `note` is a figure of the latest part."""
        self.done += n
        try:
            self._show(n, note)
        except GONE:
            # The work goes on.
            self._is_shown, self._bar = False, None

    def _show(self, n: int, note: str) -> None:
        if self._bar is not None:
            if note:
                self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(n)
        elif self._is_shown and (now := self._clock()) - self._last >= INTERVAL:
            self._last = now
            self._file.write(f"{self._line(now - self._start)}{f', {note}' if note else ''}\n")
            self._file.flush()

    def skip(self, n: int) -> None:
        """Add work that was done before."""
        self._done_before += n
        if self._bar is not None:
            self._bar.initial += n
        self.update(n)

    def _line(self, elapsed: float) -> str:
        if self.total is None:
            return f"{self.verb} {self.done:,} {self.unit} in {duration(elapsed)}"
        line = f"{self.verb} {self.done:,} of {self.total:,} {self.unit}"
        n_timed, n_left = self.done - self._done_before, self.total - self.done
        return f"{line}, {duration(elapsed * n_left / n_timed)} left" if n_timed > 0 and n_left > 0 else line


def shows_progress(method: Method) -> Method:
    """Let passes over samples show their progress in a method of an estimator with `verbose`."""

    @wraps(method)
    def wrapped(self: Any, *arguments: Any, **named: Any) -> Any:
        token = _is_verbose.set(bool(self.verbose))
        try:
            return method(self, *arguments, **named)
        finally:
            _is_verbose.reset(token)

    return wrapped  # type: ignore[return-value]


def progress_of_pass(n_samples: int, n_pieces: int) -> ProgressDisplay:
    """Return the display of one pass over samples, shown where a method asked for it and there are several pieces."""
    return ProgressDisplay("read", "samples", n_samples, shown=_is_verbose.get() and n_pieces > 1)


def track(items: Iterable[T], verb: str, unit: str, *, shown: bool = True) -> Iterator[T]:
    """Yield items and show how many of them are finished."""
    listed = list(items)
    with ProgressDisplay(verb, unit, len(listed), shown=shown) as progress:
        for item in listed:
            yield item
            progress.update()


def duration(seconds: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> duration(0.2), duration(89), duration(170), duration(4 * 3600 + 125)
    ('1 s', '89 s', '3 min', '4 h 2 min')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
