"""Why a record was rejected, and why a run ended, as texts for users."""

from collections.abc import Mapping

from outkey.core.text import Text

REASONS: Mapping[str, Text] = {
    # of a record
    "missing": Text("a value is missing"),
    "key_missing": Text("the key field is empty"),
    "duplicate_key": Text("another record on the same page has this key"),
    "ambiguous": Text("several records here have this key"),
    "taken": Text("another record has this value already"),
    "invalid": Text("the value is not valid"),
    "unknown_choice": Text("the value is not one of the choices"),
    "too_long": Text("the value is too long"),
    "out_of_range": Text("the number is out of range"),
    "unstorable_character": Text("a character cannot be stored"),
    "no_text": Text("the value is not a text"),
    "no_whole_number": Text("the value is not a whole number"),
    "no_number": Text("the value is not a number"),
    "no_date": Text("the value is not a date"),
    "no_yes_or_no": Text("the value is neither yes nor no"),
    "not_found": Text("there is no such record here"),
    "not_for_a_path": Text("the value cannot be part of a path"),
    "refused_by_database": Text("the database refused it"),
    "too_deep": Text("it is nested too deeply"),
    "too_many_fields": Text("it has too many fields"),
    "secret_in_record": Text("it repeats a secret that was sent to the API"),
    "script_error": Text("the script failed"),
    "script_timeout": Text("the script took too long"),
    "script_result": Text("the script returned no record"),
    "script_set_aside": Text("the script had failed to answer too often"),
    "too_large_for_script": Text("it is too large for a script"),
    # of a run
    "killed": Text("its process ended early; the next run resumes there"),
    "stopping": Text("its worker was stopped; another one resumes there"),
    "not_json": Text("the response is not JSON"),
    "not_a_list": Text("the records in the response are not a list"),
    "not_objects": Text("the list of records has values that are not objects"),
    "page_repeated": Text("the API gives the same page again and again"),
    "cursor_loop": Text("the cursor leads in circles"),
    "bad_cursor": Text("the cursor is not usable"),
    "foreign_next": Text("the next page is at another origin"),
    "too_many_pages": Text("there are too many pages"),
    "gap": Text("a page is missing, and one behind it is not"),
    "too_many_values": Text("the response has too many values"),
    "run_limit": Text("it reached the limit of records or minutes for one run"),
    "too_many_records": Text("there are too many records"),
    "secret_in_cursor": Text("the API returns a secret as the next position"),
    "internal_error": Text("an error of outkey itself; report it to its maintainer"),
    "all_refused": Text("not one of the records could be sent"),
    "expression": Text("an expression of the line does not match the response"),
}


def reason_text(reason: str) -> str:
    """Return a reason as a text; one that is not listed as its own words."""
    return REASONS.get(reason) or reason.replace("_", " ")
