"""When Python searches for garbage: not while a command loads, nor when it ends.

Python searches after every 700 new objects, which loading two modules makes, and once
more when it ends. There is none among modules, and looking takes as long as a third of
a short command.
"""

import gc

_OBJECTS_WHILE_LOADING = 500_000
_usual_thresholds: list[tuple[int, int, int]] = []


def begin_loading() -> None:
    """Search rarely from now on."""
    _usual_thresholds.append(gc.get_threshold())
    gc.set_threshold(_OBJECTS_WHILE_LOADING)


def end_loading() -> None:
    """Search as usual, but not among the objects that are there already."""
    if _usual_thresholds:
        gc.freeze()
        gc.set_threshold(*_usual_thresholds.pop())


def end_process() -> None:
    """Leave the memory of a process that ends to the operating system."""
    gc.freeze()
