"""The time zone of each user: chosen, offered, of the installation."""

import re

from clients import HOME, administration, apply_text, client_of
from django.contrib.auth.models import User
from django.template import Context, Template
from django.test import Client, override_settings
from django.utils import timezone

from outkey.foundation.core.secret import Secret
from outkey.hosts.django.models import Configuration, UserSettings

OWN = "/outkey/usersettings/"
AT = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC
apply_text(
    '[configuration.acme]\nbase_url = "https://acme.example"\n'
    'authentication_type = "bearer"\n'
)
administration.set_secret("acme", "token", Secret("secret-of-acme"))
Configuration.objects.update(paused_at=AT)
place = f"/outkey/configuration/{Configuration.objects.get().pk}/"
user = User.objects.create_superuser("ann")
ann = client_of(user)


def paused_since(client: Client) -> str:
    """Return the exact time that a page shows."""
    page = client.get(place).content.decode()
    shown = re.search(r"paused since ([^<]+?)\.\s", page)
    assert shown, page
    return shown[1]


def times_are_in_utc_until_somebody_chooses() -> None:
    assert paused_since(ann) == "2027-01-15 08:00:00 UTC"
    assert b'data-zone-offer="UTC"' in ann.get(OWN).content


def a_user_chooses_for_themself_alone() -> None:
    saved = ann.post(OWN, {"time_zone": "Europe/Berlin"})
    assert saved["Location"] == OWN
    assert paused_since(ann) == "2027-01-15 09:00:00 Europe/Berlin"
    other = client_of(User.objects.create_superuser("ben"))
    assert paused_since(other) == "2027-01-15 08:00:00 UTC"
    page = ann.get(OWN).content
    assert b"data-zone-offer" not in page
    assert timezone.get_current_timezone_name() == "UTC", "only while a page is made"


def an_unknown_zone_is_refused_and_explained() -> None:
    refused = ann.post(OWN, {"time_zone": "Europe/Nowhere"})
    assert refused.status_code == 422
    assert b"There is no time zone with this name." in refused.content
    assert paused_since(ann) == "2027-01-15 09:00:00 Europe/Berlin"


def the_form_leads_back_to_a_page_of_this_site_only() -> None:
    values = {"time_zone": "Europe/Berlin", "next": HOME}
    assert ann.post(OWN, values)["Location"] == HOME
    values["next"] = "https://elsewhere.example/"
    assert ann.post(OWN, values)["Location"] == OWN


def a_zone_that_this_machine_does_not_know_any_more_spoils_no_page() -> None:
    UserSettings.objects.filter(user=str(user.pk)).update(time_zone="Old/Zone")
    assert paused_since(ann) == "2027-01-15 08:00:00 UTC"


def the_installation_has_a_zone_for_those_who_did_not_choose() -> None:
    from django.conf import settings

    with override_settings(OUTKEY=settings.OUTKEY | {"TIME_ZONE": "Asia/Tokyo"}):
        other = client_of(User.objects.create_superuser("cid"))
        assert paused_since(other) == "2027-01-15 17:00:00 Asia/Tokyo"
        other.post(OWN, {"time_zone": "UTC"})
        assert paused_since(other) == "2027-01-15 08:00:00 UTC"


def settings_are_deleted_with_their_user() -> None:
    assert UserSettings.objects.filter(user=str(user.pk)).exists()
    key = str(user.pk)
    user.delete()
    assert not UserSettings.objects.filter(user=key).exists()


def a_time_is_an_element_with_the_exact_time() -> None:
    template = Template(
        "{% load outkey %}{{ at|moment }}|{{ at|exact_moment }}|{{ wrong|moment }}"
        "|{{ wrong|exact_moment }}|{{ none|moment }}|{{ none|exact_moment }}"
    )
    values = {"at": 1e9, "wrong": 1e30, "none": None}
    shown = template.render(Context(values))
    assert shown == (
        '<time datetime="2001-09-09T01:46:40Z" title="2001-09-09 01:46:40 UTC">'
        "2001-09-09</time>|2001-09-09 01:46:40 UTC|?|?||"
    )


def a_visitor_has_no_zone() -> None:
    assert Client(SERVER_NAME="127.0.0.1").get("/login/").status_code == 200


times_are_in_utc_until_somebody_chooses()
a_user_chooses_for_themself_alone()
an_unknown_zone_is_refused_and_explained()
the_form_leads_back_to_a_page_of_this_site_only()
the_installation_has_a_zone_for_those_who_did_not_choose()
a_zone_that_this_machine_does_not_know_any_more_spoils_no_page()
settings_are_deleted_with_their_user()
a_time_is_an_element_with_the_exact_time()
a_visitor_has_no_zone()
