"""Guesses of the old password count and lock like those at the sign-in."""

from accounts import PASSWORD, clerk, helper, stored, strong, weak
from axes.models import AccessAttempt  # type: ignore[import-untyped]
from clients import application, boss, client_of
from django.test import Client

PATH = "/password_change/"
GUESS = {
    "old_password": "wrong",
    "new_password1": "quite another one",
    "new_password2": "quite another one",
}
RIGHT = GUESS | {"old_password": PASSWORD}


def stranger() -> Client:
    return Client(SERVER_NAME="127.0.0.1")


def the_fifth_wrong_guess_locks_even_the_right_password() -> None:
    for number in range(4):
        response = weak.post(PATH, GUESS)
        assert response.status_code == 200, number
        assert b"incorrectly" in response.content, number
    fifth = weak.post(PATH, GUESS)
    assert fifth.status_code == 429, fifth.status_code
    assert b"15 minutes" in fifth.content
    assert weak.post(PATH, RIGHT).status_code == 429
    assert stored(clerk).check_password(PASSWORD)
    entry = {"username": "clerk", "password": PASSWORD}
    assert stranger().post("/login/", entry).status_code == 429


def wrong_passwords_at_the_sign_in_lock_the_change_as_well() -> None:
    for _ in range(5):
        stranger().post("/login/", {"username": "helper", "password": "wrong"})
    assert client_of(helper).post(PATH, RIGHT).status_code == 429


def other_users_are_not_locked() -> None:
    assert client_of(strong).post(PATH, RIGHT).status_code == 302
    assert stored(strong).check_password("quite another one")
    assert client_of(boss).get(PATH).status_code == 200


def what_is_stored_of_an_attempt_holds_no_password() -> None:
    attempts = str(list(AccessAttempt.objects.values()))
    assert "quite another one" not in attempts
    assert "wrong" not in attempts
    tags = [row["tag"] for row in application.audit_trail.rows.newest(50)]
    assert tags.count("people:session:refused") >= 10


the_fifth_wrong_guess_locks_even_the_right_password()
wrong_passwords_at_the_sign_in_lock_the_change_as_well()
other_users_are_not_locked()
what_is_stored_of_an_attempt_holds_no_password()
assert stranger().post(PATH, RIGHT).status_code == 302, "a sign-in is asked for first"
