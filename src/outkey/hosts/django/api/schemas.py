"""The bodies of requests and responses, as the OpenAPI document describes them."""

from datetime import datetime

from ninja import Schema
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

CONFIGURATION: JsonDict = {
    "base_url": "https://api.acme.example/v2",
    "authentication_type": "bearer",
    "headers": [{"key": "X-Tenant", "value": "7"}],
    "limits": {"requests_per_minute": 60},
}
SHOWN_CONFIGURATION: JsonDict = {
    "name": "acme",
    **CONFIGURATION,
    "token": {"set": True, "set_at": "2026-03-01T09:30:00Z", "reference": None},
}


class StrictSchema(Schema):
    """A body in which an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ErrorSchema(Schema):
    """What went wrong, and what to do."""

    code: str = Field(examples=["unknown_configuration"])
    message: str = Field(examples=["there is no configuration with that name"])
    hint: str = Field(examples=[""])
    field: str | None = Field(examples=["configuration"])


class ErrorBody(Schema):
    """The body of every response that is an error."""

    error: ErrorSchema


class ListedConfigurationSchema(Schema):
    """A configuration in the list."""

    model_config = ConfigDict(extra="allow")
    name: str = Field(examples=["acme"])
    base_url: str = Field(examples=["https://api.acme.example/v2"])
    authentication_type: str = Field(examples=["bearer"])
    environment: str = Field(examples=["production"])
    network: str = Field(examples=["public"])
    owner: str = Field(examples=[""], description="Empty: shared by all owners.")
    status: str = Field(examples=["working"])
    last_verified_at: datetime | None = Field(examples=["2026-03-01T09:30:00Z"])


class ShownConfigurationSchema(Schema):
    """A configuration by its TOML keys; of a secret, whether it is set."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"examples": [SHOWN_CONFIGURATION]}
    )
    name: str
    base_url: str
    authentication_type: str


class NewSecret(StrictSchema):
    """The new value of a secret, or a reference that the operator offers."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        json_schema_extra={"example": {"value": "the-new-token"}},
    )
    value: str | None = None
    reference: str | None = None


class NewWebhookSecret(StrictSchema):
    """The new value of a secret of a webhook."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        hide_input_in_errors=True,
        json_schema_extra={"example": {"value": "the-new-secret"}},
    )
    value: str


class PreviewRequest(StrictSchema):
    """The request to preview; without a path, to the test path."""

    method: str = Field(default="GET", examples=["GET"])
    path: str | None = Field(default=None, examples=["/contacts"])
    params: dict[str, str] | None = Field(default=None, examples=[{"page": "2"}])
    headers: dict[str, str] | None = Field(default=None, examples=[{"X-Trace": "1"}])


class PreviewHeaderSchema(Schema):
    """A header as it would be sent, its secret masked."""

    name: str = Field(examples=["Authorization"])
    value: str = Field(examples=["Bearer ***"])
    source: str = Field(examples=["authentication"])


class FindingSchema(Schema):
    """Something wrong or risky."""

    model_config = ConfigDict(extra="allow")
    id: str = Field(examples=["W001"])
    level: str = Field(examples=["warning"])
    message: str = Field(examples=["the token expires in 3 days"])
    hint: str = Field(examples=["Enter a new one."])


class PreviewSchema(Schema):
    """The exact request, secrets masked; nothing was sent."""

    method: str = Field(examples=["GET"])
    url: str = Field(examples=["https://api.acme.example/v2/contacts?page=2"])
    proxy: str | None
    note: str | None
    headers: list[PreviewHeaderSchema]
    findings: list[FindingSchema]


class StepSchema(Schema):
    """One step of a test."""

    step: str = Field(examples=["connect"])
    ok: bool
    detail: str
    ms: int


class ReasonSchema(Schema):
    """A reason why a test failed, the likeliest first."""

    id: str
    title: str
    evidence: str
    remedy: str


class ReportSchema(Schema):
    """What a test found."""

    configuration: str = Field(examples=["acme"])
    ok: bool
    status: int | None = Field(examples=[200])
    cause: str | None = Field(examples=[None])
    remedy: str | None
    steps: list[StepSchema]
    reasons: list[ReasonSchema]
    findings: list[FindingSchema]


class CredentialSetSchema(Schema):
    """The credentials in use; never a value."""

    serial: int = Field(examples=[4])
    fields: list[str] = Field(examples=[["token"]])
    set_at: datetime | None = Field(examples=["2026-03-01T09:30:00Z"])
    set_by: str = Field(examples=["cli:ada"])


class TestOfSetSchema(Schema):
    """The last test of the next credentials."""

    at: datetime = Field(examples=["2026-03-01T09:31:00Z"])
    ok: bool
    cause: str | None = Field(examples=[None])


class NextSetSchema(CredentialSetSchema):
    """The next credentials, and the results of the requests that tried them."""

    test: TestOfSetSchema | None
    good: int = Field(examples=[12])
    refused: int = Field(examples=[0])
    denied: int = Field(examples=[0])
    cause: str | None = Field(examples=[None], description="Why they were rejected.")


class PreviousSetSchema(CredentialSetSchema):
    """The credentials before, which are stored for going back."""

    until: datetime | None = Field(examples=["2026-03-08T09:30:00Z"])
    revoked_at: datetime | None = Field(
        examples=[None], description="When the API was last seen to refuse them."
    )


class RotationSchema(Schema):
    """How far a rotation of credentials is."""

    configuration: str = Field(examples=["acme"])
    state: str = Field(
        examples=["trial"],
        description="none, staged, tested, trial, rejected or overlap",
    )
    share: int | None = Field(examples=[10])
    after: int | None = Field(examples=[20])
    current: CredentialSetSchema
    next: NextSetSchema | None
    previous: PreviousSetSchema | None = Field(examples=[None])
    findings: list[FindingSchema]


class NewTrial(StrictSchema):
    """How much of the requests to try, and after how many successes to promote."""

    share: int | None = Field(
        default=None, examples=[10], description="Percent; else that of the settings."
    )
    after: int | None = Field(
        default=None, examples=[20], description="Else that of the settings."
    )


class StepOfRotationSchema(Schema):
    """A step that was done, and the set that it was about."""

    done: str = Field(examples=["promoted"])
    configuration: str = Field(examples=["acme"])
    serial: int = Field(examples=[5])


class StartedTrialSchema(StepOfRotationSchema):
    """A trial that was started or changed."""

    share: int = Field(examples=[10])
    after: int = Field(examples=[20])


class ReportOfSetSchema(ReportSchema):
    """What a test of the next credentials found."""

    serial: int = Field(examples=[5])


class ProbeSchema(Schema):
    """What one request with the previous credentials has proved."""

    configuration: str = Field(examples=["acme"])
    serial: int = Field(examples=[4])
    refused: bool | None = Field(description="Null: nothing is proved.")
    status: int | None = Field(examples=[401])
    cause: str | None = Field(examples=["invalid_credentials"])
    at: datetime = Field(examples=["2026-03-01T10:30:00Z"])


class LineSchema(Schema):
    """A sync line by its TOML keys."""

    model_config = ConfigDict(extra="allow")
    name: str = Field(examples=["contacts"])
    configuration: str = Field(examples=["acme"])
    method: str = Field(examples=["GET"])
    path: str = Field(examples=["/contacts"])
    paused: bool


class SavedLineSchema(LineSchema):
    """A sync line, with what is wrong or risky about it."""

    findings: list[FindingSchema]


class NewRun(StrictSchema):
    """How to run; the body may be left out."""

    dry_run: bool = Field(default=False)


class RunSchema(Schema):
    """A run, and how many records it has created, updated and so on."""

    model_config = ConfigDict(extra="allow")
    run: str = Field(examples=["42"])
    line: str = Field(examples=["contacts"])
    state: str = Field(examples=["running"])
    dry_run: bool
    trigger: str = Field(
        examples=["hand"], description="delivery, retry, dry_run, schedule or hand"
    )
    started_at: datetime = Field(examples=["2026-03-01T09:30:00Z"])
    ended_at: datetime | None = Field(examples=["2026-03-01T09:31:05Z"])
    due_at: datetime | None = Field(
        examples=[None], description="When a queued run is due."
    )
    cause: str | None


class RefusalSchema(Schema):
    """Why deliveries of a webhook were refused, and what to do."""

    reason: str = Field(examples=["wrong_signature"])
    message: str = Field(examples=["the signature does not match"])
    hint: str = Field(examples=["Compare the secret with the sender's."])


class WebhookSchema(Schema):
    """A webhook by its TOML keys, with its endpoint; never a secret."""

    model_config = ConfigDict(extra="allow")
    webhook: str = Field(examples=["shop"], description="The name.")
    scheme: str = Field(examples=["shopify"])
    endpoint: str = Field(
        examples=["https://outkey.example/hooks/4f9Zk1sQ7pXw2LmT0vBcEA"]
    )
    state: str = Field(examples=["active"], description="active or paused")
    secrets: dict[str, str | None] = Field(
        examples=[{"secret": "set", "previous_secret": None, "verify_token": None}],
        description="The reference of each secret, `set` for an entered value, or null",
    )
    refused: dict[str, int] = Field(
        examples=[{"wrong_signature": 2}], description="How many deliveries, by reason"
    )
    refusals: list[RefusalSchema]
    findings: list[FindingSchema]


class DeliverySchema(Schema):
    """A delivery in the inbox of a webhook, without its body."""

    id: str = Field(examples=["17"])
    event_id: str = Field(examples=["evt_1Nv0FGQ9RKHgCVdK"])
    type: str = Field(examples=["orders/create"])
    received_at: datetime = Field(examples=["2026-03-01T09:30:00Z"])
    state: str = Field(
        examples=["processed"], description="received, processed, failed or ignored"
    )
    attempts: int = Field(examples=[1])
    reason: str = Field(examples=[""])
    records: int | None = Field(examples=[1])
    tested_by: str | None = Field(
        examples=[None], description="Who sent it as a test; null: the sender did"
    )


class AuditSchema(Schema):
    """A record of the audit."""

    model_config = ConfigDict(extra="allow")
    id: int = Field(examples=[1234])
    at: datetime | None = Field(
        examples=["2026-03-01T09:30:00.125Z"],
        description="Null if the record was manipulated.",
    )
    tag: str = Field(examples=["engine:send:ended"])


class PresetSchema(Schema):
    """What is known about a provider, in short."""

    name: str = Field(examples=["github"])
    title: str = Field(examples=["GitHub"])
    methods: list[str] = Field(examples=[["token"]])
    checked: str = Field(examples=["2026-02-11"])
