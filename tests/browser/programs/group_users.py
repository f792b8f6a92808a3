"""Creates a user in each group, whose password is named after the group."""

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.auth.models import Group, User

for name in ("Administrator", "Operator", "Auditor"):
    user, _ = User.objects.get_or_create(username=name.lower(), is_staff=True)
    user.set_password(f"a long password {name}")
    user.save()
    user.groups.set([Group.objects.get(name=name)])
