"""What the official clients of stores of secrets read from a server, as JSON.

Standard input has one object: the client, the address, what it logs in with, and what
it reads. The result is a value with its version, or the name of an exception.
"""

import json
import sys
from typing import Any

PATIENCE = 20


def azure(given: dict[str, Any]) -> dict[str, str]:
    """Read a secret by azure-keyvault-secrets, logged in by azure-identity."""
    from azure.identity import ClientAssertionCredential, ClientSecretCredential
    from azure.keyvault.secrets import SecretClient

    address = given["address"]
    options = {"authority": address, "disable_instance_discovery": True}
    tenant, client = given["tenant"], given["id"]
    credential = (
        ClientSecretCredential(tenant, client, given["secret"], **options)
        if "secret" in given
        else ClientAssertionCredential(
            tenant, client, lambda: given["federated"], **options
        )
    )
    # Vaults have other names than this server; the challenge is that of a vault.
    reader = SecretClient(
        address,
        credential,
        verify_challenge_resource=False,
        retry_total=0,
        connection_timeout=PATIENCE,
    )
    secret = reader.get_secret(given["name"], given.get("version"))
    return {"value": secret.value, "version": secret.properties.version}


def google(given: dict[str, Any]) -> dict[str, str]:
    """Read a secret by google-cloud-secret-manager, logged in by its key file."""
    from google.auth.transport.requests import Request
    from google.cloud.secretmanager import SecretManagerServiceClient
    from google.oauth2 import credentials, service_account

    account = service_account.Credentials.from_service_account_info(given["account"])
    if given.get("by_token"):
        # Of its own accord the client sends a token that the account signs itself.
        scoped = account.with_scopes(["https://www.googleapis.com/auth/cloud-platform"])
        scoped.refresh(Request())
        account = credentials.Credentials(scoped.token)
    reader = SecretManagerServiceClient(
        credentials=account,
        transport="rest",
        client_options={"api_endpoint": given["address"]},
    )
    response = reader.access_secret_version(
        name=given["name"], timeout=PATIENCE, retry=None
    )
    return {
        "value": response.payload.data.decode(),
        "version": response.name,
        "checksum": str(response.payload.data_crc32c),
    }


def op(given: dict[str, Any]) -> dict[str, str]:
    """Read a field of an item by onepasswordconnectsdk."""
    from onepasswordconnectsdk.client import new_client

    reader = new_client(given["address"], given["token"])
    item = reader.get_item(given["item"], given["vault"])
    values = {field.label: field.value for field in item.fields}
    return {"value": values[given["field"]], "version": str(item.version)}


def main() -> None:
    """Read everything that is asked for, one line for each."""
    clients = {"azure": azure, "google": google, "op": op}
    for given in json.load(sys.stdin):
        try:
            result = clients[given["client"]](given)
        except Exception as error:  # noqa: BLE001 - its name is the verdict
            result = {"error": type(error).__name__, "words": str(error)[:300]}
        print(json.dumps(result))


main()
