"""Why a run ended and why a record was rejected, by the code that is stored.

Codes are part of the interface; texts are for users. A `SyncFailed` takes its hint from
here, and so does the page of the run: a remedy is written once.
"""

from typing import NamedTuple

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.text import NO_TEXT, Text


class RunFailure(NamedTuple):
    """The texts for users about a run that ended early."""

    summary: Text
    remedy: Text


NO_REMEDY = NO_TEXT  # the summary has the remedy
PREVIEW_LINE = SyncFailed.default_hint
RUN_LIMIT = "run_limit"
ALL_REFUSED = "all_refused"
GUARD = "guard"
SHAPE_CHANGED = "shape_changed"
TARGET_REPLACED = "target_replaced"
NO_REMOTE_ID = "no_remote_id"
CREATE_UNANSWERED = "create_unanswered"
BAD_PARENT = "bad_parent"
JOB_FAILED = "job_failed"
JOB_TIMEOUT = "job_timeout"
REJECTED_BY_PULL = "rejected_by_pull"

RUN_FAILURES = {
    "killed": RunFailure(
        Text("its process ended in the middle; the next run continues there"),
        NO_REMEDY,
    ),
    "stopping": RunFailure(
        Text("its process was stopped; the next run continues there"),
        NO_REMEDY,
    ),
    "internal_error": RunFailure(
        Text("an unexpected error in outkey or in the application"),
        Text("Report it to the administrator, with the time of the run."),
    ),
    "not_json": RunFailure(
        Text("the response is not JSON"),
        Text("Check the path of the line; a URL for browsers returns a web page."),
    ),
    SHAPE_CHANGED: RunFailure(
        Text("the API has changed the shape of its records"),
        Text(
            "Correct the fields of the line, and accept the new shape with outkey line"
            " shape. The next run continues there."
        ),
    ),
    "not_jsonl": RunFailure(
        Text("the response is not JSON Lines, an object in each line"),
        Text("Check the path of the line and its format (response.format)."),
    ),
    "not_csv": RunFailure(
        Text("the response is not CSV"),
        Text(
            "Check the path of the line, its format (response.format) and the delimiter"
            " (response.delimiter)."
        ),
    ),
    "not_xml": RunFailure(
        Text("the response is not XML"),
        Text("Check the path of the line and its format (response.format)."),
    ),
    "unsafe_xml": RunFailure(
        Text("the XML of the response has a DOCTYPE, which could name files"),
        Text("Ask the provider of the API for XML without a DOCTYPE."),
    ),
    "bad_charset": RunFailure(
        Text("the response has another character encoding than expected"),
        Text("Enter its charset (response.charset), such as windows-1252."),
    ),
    "bad_archive": RunFailure(
        Text("the gzip file or ZIP archive of the response is damaged, or not one"),
        Text(
            "Check the compression (response.compression) and the name of the file in"
            " the archive (response.file)."
        ),
    ),
    "too_deep": RunFailure(
        Text("the response is nested too deeply"),
        Text("Ask the provider of the API for a flatter format."),
    ),
    "not_a_list": RunFailure(
        Text("there is no list of records where the line expects it"),
        Text("Correct Records (records); if an empty response has none, add || `[]`."),
    ),
    "not_objects": RunFailure(
        Text("the list of records contains values that are not objects"),
        Text("Correct Records (records): it must select a list of objects."),
    ),
    "unsafe_id": RunFailure(
        Text("the delivery names an object by an ID that cannot be part of a path"),
        Text("Correct the JMESPath of the ID (confirm_id) of the webhook."),
    ),
    "too_many_records": RunFailure(
        Text("a page has too many records"),
        Text("Request the records page by page (pagination), or with a smaller size."),
    ),
    "too_many_values": RunFailure(
        Text("the response has too many values"),
        Text("Request fewer records at a time (pagination.size)."),
    ),
    "too_many_pages": RunFailure(Text("there are too many pages"), PREVIEW_LINE),
    RUN_LIMIT: RunFailure(
        Text("the run reached the limit of records or minutes of its line"),
        Text(
            "If the API really has that many records, raise max_records or max_minutes"
            " of the line; otherwise check the pagination."
        ),
    ),
    GUARD: RunFailure(
        Text("more records are missing than the line removes in one run"),
        Text(
            "Check where they are missing: at the API, or for a push in the host."
            " If they are really deleted, run the line once with --allow-removal,"
            " or raise"
            " guard_percent."
        ),
    ),
    TARGET_REPLACED: RunFailure(
        Text(
            "many records that were sent are no longer in the target, and most of those"
            " in it were never sent"
        ),
        Text(
            "If the target was made again or restored, they may be the same records"
            " with other IDs, and would be created at the API a second time: restore it"
            " with the IDs that it had. If they are new, run the line once with"
            " --allow-removal."
        ),
    ),
    "preview_limit": RunFailure(
        Text("the preview took too long"),
        Text("Simplify the expressions of the line, or start a dry run."),
    ),
    "page_repeated": RunFailure(
        Text("the API gives the same page again and again"),
        Text("Check the position parameter (pagination.position_parameter)."),
    ),
    "bad_cursor": RunFailure(
        Text("the cursor of the next page is not usable"),
        Text("Correct the cursor (pagination.cursor)."),
    ),
    "cursor_loop": RunFailure(
        Text("the API leads back to a page that was read already"),
        Text("Check the cursor (pagination.cursor) and its parameter."),
    ),
    "foreign_next": RunFailure(
        Text("the next page is at another origin than the Base URL"),
        Text("Credentials stay at their origin: page by number or cursor instead."),
    ),
    "secret_in_cursor": RunFailure(
        Text("the API returns a secret as the position or value to continue from"),
        Text("Page by number or offset, and choose another incremental field."),
    ),
    "too_many_windows": RunFailure(
        Text("there are too many windows to request"),
        Text(
            "Choose a longer window (incremental.window), or a later start"
            " (incremental.start)."
        ),
    ),
    "not_a_moment": RunFailure(
        Text("the value to continue from is not a moment"),
        Text(
            "Choose a field of changes that has the time of the change, state the"
            " format, or remove lookback; then: outkey line reset NAME."
        ),
    ),
    "gap": RunFailure(
        Text("a page is empty or missing, but a later one is not"),
        Text("Run it again; if that fails too, request one page at a time (parallel)."),
    ),
    BAD_PARENT: RunFailure(
        Text("a field of the parent cannot be part of a path"),
        Text("Correct the field in the record of the parent, or the path of the line."),
    ),
    JOB_FAILED: RunFailure(
        Text("the API did not do the job that was ordered"),
        Text(
            "Look for the reason at the provider. The next run orders another one; if"
            " that fails too, check the settings of the job."
        ),
    ),
    JOB_TIMEOUT: RunFailure(
        Text("the job that was ordered took too long"),
        Text(
            "The next run orders another one. Raise job.max_minutes, or check job.state"
            " and job.done if the job was done in time."
        ),
    ),
    ALL_REFUSED: RunFailure(
        Text("every record was rejected"),
        Text(
            "See the rejected records, and correct the fields of the line; of a push"
            " also its path and body."
        ),
    ),
    "expression": RunFailure(
        Text("an expression of the line does not fit the response"), PREVIEW_LINE
    ),
    "bad_results": RunFailure(
        Text("the response to a batch does not have one result for each record"),
        Text("Check the list in the response (results_at), or send single records."),
    ),
    NO_REMOTE_ID: RunFailure(
        Text("the response to a create has no ID of the new record"),
        Text(
            "Correct the path of the ID in the response (remote_id). The API has the"
            " record: if it does not know Idempotency-Key, delete it there, because"
            " the next run creates it again."
        ),
    ),
}

REJECTIONS = {
    "missing": Text("a value is missing"),
    "key_missing": Text("the key field is empty"),
    "row_length": Text("the row has more or fewer cells than the header"),
    "duplicate_key": Text("another record on the same page has this key"),
    "ambiguous": Text("several records here have this key"),
    "taken": Text("another record has this value already"),
    "invalid": Text("the value is not valid"),
    "wrong_type": Text("the value has the wrong type"),
    "unknown_choice": Text("the value is not one of the choices"),
    "too_long": Text("the value is too long"),
    "out_of_range": Text("the number is out of range"),
    "unstorable_character": Text("a character cannot be stored"),
    "unreadable": Text("the database has a value there that cannot be read"),
    "no_text": Text("the value is not a text"),
    "no_whole_number": Text("the value is not a whole number"),
    "no_number": Text("the value is not a number"),
    "no_date": Text("the value is not a date"),
    "no_yes_or_no": Text("the value is neither yes nor no"),
    "not_found": Text("there is no such record here"),
    BAD_PARENT: Text("a field of the parent cannot be part of a path"),
    "not_for_a_path": Text("the value cannot be part of a path"),
    "not_a_list": Text("the value is not a list"),
    "too_many_children": Text("the list has too many elements"),
    "refused_by_database": Text("the database refused it"),
    "save_failed": Text("the code of the application that saves it failed"),
    "too_deep": Text("it is nested too deeply"),
    "too_many_fields": Text("it has too many fields"),
    "secret_in_record": Text("it repeats a secret that was sent to the API"),
    "expression": Text("an expression of the line does not fit the record"),
    NO_REMOTE_ID: Text("the response has no ID of the new record"),
    "long_remote_id": Text(
        "the ID of the new record is longer than 1000 characters or 2000 bytes"
    ),
    CREATE_UNANSWERED: Text(
        "it may be a record that was sent from here, whose create has no response yet"
    ),
    REJECTED_BY_PULL: Text(
        "the last pull of the pair rejected the API's version, which may have changed"
    ),
    "error_in_response": Text("the response reports an error"),
    "script_error": Text("the script failed"),
    "script_timeout": Text("the script took too long"),
    "script_result": Text("the script returned no record"),
    "script_set_aside": Text("the script was stopped after too many timeouts"),
    "too_large_for_script": Text("it is too large for a script"),
}


def sync_failure(reason: str, message: Text | None = None) -> SyncFailed:
    """Return the error that ends a run; its hint is the remedy of the reason.

    The message is the summary of the reason, unless there is more to say.
    """
    failure = RUN_FAILURES[reason]
    return SyncFailed(message or failure.summary, hint=failure.remedy, reason=reason)


def rejection_text(reason: str) -> Text:
    """Return in words why a record was rejected."""
    if reason in REJECTIONS:
        return REJECTIONS[reason]
    if reason.startswith("status_"):
        status = reason.removeprefix("status_")
        return Text("the API returned status {status}", status=status)
    return Text("{reason}", reason=reason.replace("_", " "))
