"""The formats that can be imported; apart, so that a command names them quickly."""

from enum import StrEnum


class ImportFormat(StrEnum):
    """The formats that can be imported."""

    CURL = "curl"
    POSTMAN = "postman"
    OPENAPI = "openapi"
    INSOMNIA = "insomnia"
    BRUNO = "bruno"
    HTTP = "http"
    HAR = "har"
    AIRBYTE = "airbyte"
    DLT = "dlt"
