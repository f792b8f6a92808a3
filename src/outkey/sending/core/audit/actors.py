"""Who did something, as the audit names them: `web:ann` is a user of the pages."""

from outkey.foundation.core.text import Text

SEPARATOR = ":"
WEBHOOK_ACTOR = "webhook:"  # before the name: who does what a delivery causes
# Where users do things; background work has a plain name of its own.
PAGES = "web"
ORIGINS = {PAGES: Text("pages"), "cli": Text("command line")}


def possible_actors(name: str) -> tuple[str, ...]:
    """Return the actors that a name may stand for, with and without an origin."""
    origin, separator, _ = name.partition(SEPARATOR)
    if separator and origin in ORIGINS:
        return (name,)
    return (name, *(f"{origin}{SEPARATOR}{name}" for origin in ORIGINS))


def user_of_pages(actor: str) -> str | None:
    """Return the name of the user of the pages that an actor is; None for others."""
    origin, _, name = actor.partition(SEPARATOR)
    return name if origin == PAGES and name else None


def actor_words(actor: str) -> Text:
    """Return an actor as users read it: the name, and where it was done."""
    origin, separator, name = actor.partition(SEPARATOR)
    if not separator or origin not in ORIGINS:
        return Text("{name}", name=actor)
    if not name:
        return Text("not signed in ({origin})", origin=ORIGINS[origin])
    return Text("{name} ({origin})", name=name, origin=ORIGINS[origin])
