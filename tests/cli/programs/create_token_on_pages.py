"""Create an API token as a user of the pages does: its name, the user, scopes."""

import sys

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from outkey.administration.core.access.api_tokens import read_scopes
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.hosts.django.pages.access import installation, web_actor

_, name, user, *scopes = sys.argv
application = installation()
wish = TokenWish(name=name, scopes=read_scopes(scopes))
administration = application.administration(web_actor(user))
print(application.api_tokens.create(administration, wish).text)
