"""What the audit records, in words."""

import pytest

from outkey.administration.core.watching.audit_words import (
    Detail,
    details_of,
    is_about_line,
    sentence_of,
    subject_of,
)
from outkey.sending.core.audit.actors import actor_words, possible_actors
from outkey.sending.core.audit.events import ChangeEffect, Tag


@pytest.mark.parametrize("tag", Tag)
def test_every_tag_has_a_sentence(tag: Tag) -> None:
    sentence = sentence_of(tag)
    assert sentence != tag
    assert ":" not in sentence


def test_a_record_tells_whether_it_is_about_a_line() -> None:
    assert is_about_line({"tag": Tag.LINE_SAVED})
    assert not is_about_line({"tag": Tag.PAIR_SAVED})


def test_a_tag_of_a_later_version_is_shown_as_it_is() -> None:
    assert sentence_of("api:moon:landed") == "api:moon:landed"


@pytest.mark.parametrize(
    ("facts", "subject"),
    [
        ({"tag": Tag.LINE_SAVED, "configuration": "shop", "fields": ["a"]}, "a"),
        (
            {
                "tag": Tag.CONFIGURATION_UPDATED,
                "configuration": "shop",
                "fields": ["active"],
            },
            "shop",
        ),
        ({"tag": Tag.PAIR_SAVED, "configuration": "", "fields": ["orders"]}, "orders"),
        ({"tag": Tag.KEY_ADDED, "key": "k2"}, "k2"),
        ({"tag": Tag.USER_UPDATED, "key": "ann", "fields": ["email"]}, "ann"),
        ({"tag": Tag.AUDIT_EXPORTED}, ""),
    ],
)
def test_the_subject_is_what_was_changed(
    facts: dict[str, object], subject: str
) -> None:
    assert subject_of(facts) == subject


def test_changed_fields_have_their_labels_and_values() -> None:
    facts = {
        "tag": Tag.CONFIGURATION_UPDATED,
        "configuration": "shop",
        "fields": ["active", "notes"],
        "changes": [["active", "off", "on"], ["notes", "", ""], "odd", []],
    }
    assert details_of(facts) == [Detail("Active", "off", "on"), Detail("Notes")]


def test_the_fields_of_a_line_have_the_labels_of_a_line() -> None:
    facts = {
        "tag": Tag.LINE_SAVED,
        "configuration": "shop",
        "fields": ["orders"],
        "changes": [["schedule", "", "0 6 * * *"], ["fields.born_on", "a", "b"]],
    }
    assert details_of(facts) == [
        Detail("Schedule", "", "0 6 * * *"),
        Detail("fields.born_on", "a", "b"),
    ]


def test_records_without_values_have_the_names_alone() -> None:
    facts = {"tag": Tag.SECRET_SET, "configuration": "shop", "fields": ["token", "x"]}
    assert details_of(facts) == [Detail("Token"), Detail("x")]
    assert details_of({"tag": Tag.LINE_SAVED, "fields": ["orders"]}) == []
    assert details_of({"tag": Tag.PAIR_SAVED, "fields": ["orders"]}) == []
    user = {"tag": Tag.USER_UPDATED, "key": "ann", "fields": ["email"]}
    assert details_of(user) == [Detail("Email address")]


def test_a_first_value_is_set_and_another_replaces_it() -> None:
    assert sentence_of(Tag.SECRET_SET, ChangeEffect.CREATED) == "set a secret of"
    assert sentence_of(Tag.SECRET_SET, ChangeEffect.REPLACED) == "replaced a secret of"
    assert sentence_of(Tag.LINE_SAVED, ChangeEffect.CREATED) == "created the sync line"
    assert sentence_of(Tag.LINE_SAVED) == "saved the sync line"


def test_fields_of_users_have_labels_and_links_their_names() -> None:
    facts = {
        "tag": Tag.USER_UPDATED,
        "key": "user ann",
        "fields": ["is_superuser", "groups +Operator", "groups -Auditor", "new_one"],
    }
    assert subject_of(facts) == "ann"
    assert details_of(facts) == [
        Detail("Superuser status"),
        Detail("Groups", new="Operator"),
        Detail("Groups", old="Auditor"),
        Detail("new_one"),
    ]
    created = {
        "tag": Tag.USER_CREATED,
        "key": "user ann",
        "fields": ["password1", "password2"],
    }
    assert details_of(created) == [Detail("Password")]
    renamed = {
        "tag": Tag.GROUP_UPDATED,
        "key": "group crew",
        "fields": ["name", "name +team"],
    }
    assert details_of(renamed) == [Detail("Name", new="team")]


@pytest.mark.parametrize(
    ("actor", "words"),
    [
        ("web:admin", "admin (pages)"),
        ("cli:root", "root (command line)"),
        ("web:", "not signed in (pages)"),
        ("schedule", "schedule"),
        ("erased:7", "erased:7"),
        ("", ""),
    ],
)
def test_an_actor_is_a_name_and_a_place(actor: str, words: str) -> None:
    assert actor_words(actor) == words


def test_a_name_stands_for_an_actor_of_any_origin() -> None:
    assert possible_actors("admin") == ("admin", "web:admin", "cli:admin")
    assert possible_actors("web:admin") == ("web:admin",)
    assert "web:a:b" in possible_actors("a:b")
