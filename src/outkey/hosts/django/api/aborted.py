"""How the send proxy and the embedded server agree on the end of a response."""

# In the WSGI environment of a server that can do it: a function that takes seconds,
# after which the current response is aborted if its client has not taken it.
RESPOND_WITHIN = "outkey.respond_within"


class ResponseAborted(Exception):
    """The body of a response broke off: its connection must end without its end."""
