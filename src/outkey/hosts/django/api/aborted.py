"""How the server is told that a response cannot be finished."""


class ResponseAborted(Exception):
    """The body of a response broke off: its connection must end without its end."""
