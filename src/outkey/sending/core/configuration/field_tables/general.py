"""The fields of the tab General."""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind, Tab

general = partial(Field, Tab.GENERAL)

FIELDS: tuple[Field, ...] = (
    general(
        "name",
        "Name",
        Kind.TEXT,
        required=True,
        maximum=200,
        help="The name of this API; must be unique.",
    ),
    general(
        "base_url",
        "Base URL",
        Kind.URL,
        required=True,
        takes_variables=True,
        help="The URL of the API, for example https://api.acme.example/v2.",
    ),
    general(
        "environment",
        "Environment",
        Kind.CHOICE,
        choices.Environment,
        default="production",
        help="What the external system is used for.",
    ),
    general(
        "network",
        "Network",
        Kind.CHOICE,
        choices.Network,
        default="public",
        help=(
            "Public internet means https and global addresses only; "
            "Internal trusted network permits private addresses and plain http."
        ),
    ),
    general(
        "active",
        "Active",
        Kind.FLAG,
        default=True,
        help="Whether requests may be sent.",
    ),
    general(
        "owner",
        "Owner",
        Kind.TEXT,
        maximum=200,
        rare=True,
        audited=Audited.WHOLE,
        help=(
            "Whose configuration it is, such as the name of a team: users and API"
            " tokens that are limited to owners see only theirs. Empty: shared by all"
            " owners."
        ),
    ),
    general(
        "notes",
        "Notes",
        Kind.LONG_TEXT,
        help="A contact, where the credentials came from, and the like. No secrets.",
    ),
    general(
        "preset",
        "Preset",
        Kind.TEXT,
        maximum=100,
        rare=True,
        help="The preset that this configuration was made from, if any.",
    ),
    general(
        "preset_day",
        "Preset as of",
        Kind.DATE,
        rare=True,
        help="The state of that preset; a check reports later corrections.",
    ),
)
