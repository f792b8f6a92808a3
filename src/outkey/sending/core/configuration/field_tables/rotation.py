"""The fields of rotations, on the tab Authentication."""

from functools import partial

from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind, Tab

rotation = partial(Field, Tab.AUTHENTICATION, rare=True, audited=Audited.VALUE)

FIELDS: tuple[Field, ...] = (
    rotation(
        "rotation.share",
        "Share of a trial",
        Kind.INTEGER,
        default=10,
        minimum=1,
        maximum=100,
        help="Percent of the requests that use the next credentials during a trial.",
    ),
    rotation(
        "rotation.successes",
        "Successes of a trial",
        Kind.INTEGER,
        default=20,
        minimum=1,
        maximum=10_000,
        help="After so many accepted requests the next credentials replace the others.",
    ),
    rotation(
        "rotation.automatic",
        "End a trial by itself",
        Kind.FLAG,
        default=True,
        help=(
            "Replace the credentials after enough successes. Without it, only a user"
            " does so."
        ),
    ),
    rotation(
        "rotation.overlap_days",
        "Days to go back",
        Kind.INTEGER,
        default=7,
        minimum=1,
        maximum=365,
        help="For how many days the previous credentials stay stored after a rotation.",
    ),
    rotation(
        "rotation.rotate_after_days",
        "Rotate after",
        Kind.INTEGER,
        minimum=1,
        maximum=3650,
        help=(
            "After how many days `outkey doctor` reports that the credentials should be"
            " replaced; empty for never."
        ),
    ),
)
