"""Refusals that Django's own log of requests leaves out."""

from django.http.response import HttpResponseBase


def keep_out_of_log(response: HttpResponseBase) -> None:
    """Keep Django from logging the path of a request that this response refuses."""
    # Django logs a refusal unless it has this mark of an earlier log entry.
    vars(response)["_has_been_logged"] = True
