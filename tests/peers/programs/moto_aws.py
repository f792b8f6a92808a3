"""AWS as moto plays it, with IAM switched on: signatures and policies are checked.

Prints one line of JSON with its URL, the access key of a user who may use S3 and SQS
and assume one role, and that of a user who may do nothing. Runs until its standard
input ends.
"""

import json
import sys
from typing import Any

import boto3
from moto import settings
from moto.server import ThreadedMotoServer

ACCOUNT = "123456789012"
POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": [
                "s3:*",
                "sqs:*",
                "sts:AssumeRole",
                "secretsmanager:GetSecretValue",
                "ssm:GetParameter",
            ],
            "Resource": "*",
        }
    ],
}
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:user/erp"},
            "Action": "sts:AssumeRole",
        }
    ],
}


def store_secrets(secrets: Any, parameters: Any) -> None:  # noqa: ANN401 - clients of boto3
    """Store a secret in two versions, one of bytes, one deleted, and parameters."""
    first = '{"user": "erp", "password": "canary-aws-old"}'
    second = first.replace("old", "new")
    secrets.create_secret(Name="erp/db", SecretString=first)
    secrets.put_secret_value(SecretId="erp/db", SecretString=second)
    secrets.create_secret(Name="bytes", SecretBinary=b"canary")
    secrets.create_secret(Name="deleted", SecretString="canary")
    secrets.delete_secret(SecretId="deleted")
    for value in ("canary-ssm-old", "canary-ssm-new"):
        parameters.put_parameter(
            Name="/erp/key", Value=value, Type="SecureString", Overwrite=True
        )
    parameters.put_parameter(Name="alone", Value="canary-ssm-alone", Type="String")


def main() -> None:
    """Prepare the account, switch IAM on, and wait."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"

    def client(service: str) -> Any:  # noqa: ANN401 - its methods are made at run time
        return boto3.client(
            service,
            endpoint_url=url,
            region_name="eu-central-1",
            aws_access_key_id="prepares",
            aws_secret_access_key="prepares",
        )

    iam = client("iam")
    iam.create_user(UserName="erp")
    key = iam.create_access_key(UserName="erp")["AccessKey"]
    document = json.dumps(POLICY)
    iam.put_user_policy(UserName="erp", PolicyName="erp", PolicyDocument=document)
    role = iam.create_role(RoleName="erp", AssumeRolePolicyDocument=json.dumps(TRUST))
    iam.put_role_policy(RoleName="erp", PolicyName="erp", PolicyDocument=document)
    client("sqs").create_queue(QueueName="orders")
    place = {"LocationConstraint": "eu-central-1"}
    client("s3").create_bucket(Bucket="exports", CreateBucketConfiguration=place)
    store_secrets(client("secretsmanager"), client("ssm"))
    iam.create_user(UserName="reader")
    denied = iam.create_access_key(UserName="reader")["AccessKey"]
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0  # from now on everything is checked
    facts = {
        "url": url,
        "key_id": key["AccessKeyId"],
        "key": key["SecretAccessKey"],
        "denied_id": denied["AccessKeyId"],
        "denied_key": denied["SecretAccessKey"],
        "role": role["Role"]["Arn"],
    }
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


main()
