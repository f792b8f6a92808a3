"""What is stored about users: seen on the pages, exported and erased."""

import json

from cli.conftest import Terminal
from programs import assert_program_passes


def test_a_person_gets_all_that_is_kept_about_them_and_is_then_forgotten(
    outkey: Terminal,
) -> None:
    done = assert_program_passes(
        "cli/life_of_a_user", outkey.home, settings=outkey.settings
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert "Requests are sent unencrypted" in seen["recommendations"]
    assert "and 2 more" in seen["recommendations"]
    assert "A secret is older than the policy allows" in seen["recommendations"]
    assert "The policy has an unknown key" in seen["invalid_policy"]
    assert seen["protection_status"] == 200
    assert seen["status_without_rights"] == 403
    assert "400 days" in seen["protection"]

    token = ("ci", "alice", "read")
    assert_program_passes("cli/create_token_on_pages", outkey.home, *token)
    about = outkey("people", "export", "alice").json
    assert [made["name"] for made in about["api_tokens"]] == ["ci"]
    assert about["account"]["email"] == "alice@corp.example"
    assert len(about["sessions"]) == 1
    assert {login["username"] for login in about["logins"]} == {"alice"}
    assert [entry["action_flag"] for entry in about["history"]] == [2]
    assert len(about["test_deliveries"]) == 1
    (secret,) = about["secrets"]
    assert (secret["configuration__name"], secret["field"]) == ("a", "token")
    actors = {record["actor"].partition(":")[0] for record in about["audit"]}
    assert actors == {"web", "cli"}
    assert [r["key"] for r in about["audit"] if r["actor"] == "web:boss"] == [
        "user alice",
        "user 2",
    ]
    assert {"api:secret:set", "people:session:began"} <= {
        r["tag"] for r in about["audit"]
    }

    exports = [
        record["key"]
        for record in outkey("people", "export", "alice").json["audit"]
        if record["tag"] == "people:account:exported"
    ]
    # The first was written by an earlier version, with the account's id.
    assert exports == ["user 2", "user alice", "user alice"]

    assert outkey("people", "erase", "alice").code == 2  # nobody can be asked
    erased = outkey("people", "erase", "alice", "--yes")
    assert erased.code == 0
    assert "erased:" in erased.out
    assert "revoked API tokens: ci\n" in erased.out
    (token_left,) = outkey("api-token", "list", "--json").json
    assert token_left["state"] == "revoked"
    assert outkey("people", "export", "alice").code == 2
    # the only administrator
    assert outkey("people", "erase", "boss", "--yes").code == 2
    assert outkey("people", "prune").out == "removed: 1 sign-in or session\n"
    done = assert_program_passes(
        "cli/remains_of_a_user", outkey.home, settings=outkey.settings
    )
    remains = json.loads(done.stdout)
    assert remains["tables"] == []
    assert remains["set_by"][0].startswith("erased:")
    assert remains["is_tested"], "what a test found still holds"
    assert remains["tags"][:2] == ["people:api_token:revoked", "people:account:erased"]
