"""What an AWS account needs once, before `ray up cluster/gpu.yaml`; run again, it changes only what differs.

    python cluster/aws.py                          roles and a security group that this machine may ssh into
    python cluster/aws.py --ssh-from 10.0.0.0/8    from these addresses instead
    python cluster/aws.py --delete                 takes them away again

Left to itself, Ray lets the whole world reach ssh, and gives the workers no role: they could read no bucket.
"""

import argparse
import json
import urllib.request
from pathlib import Path
from typing import Any

import boto3
import yaml

FILE = Path(__file__).with_name("gpu.yaml")
HEAD, WORKER = "bv-search-head", "bv-search-worker"
MANAGED = {
    # starts machines, by an image that a parameter names; keeps stores
    HEAD: ("AmazonEC2FullAccess", "AmazonSSMReadOnlyAccess", "AmazonS3FullAccess"),
    WORKER: ("AmazonS3FullAccess",),
}
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
OWN_ADDRESS = "https://checkip.amazonaws.com"


def create(region: str, group_name: str, ssh_from: str) -> None:
    iam = boto3.client("iam")
    for name, policies in MANAGED.items():
        role = _role(iam, name)
        for policy in policies:
            iam.attach_role_policy(RoleName=name, PolicyArn=f"arn:aws:iam::aws:policy/{policy}")
        _profile(iam, name)
    pass_role = {"Version": "2012-10-17", "Statement": [_may_pass(role)]}  # the worker's, which came last
    iam.put_role_policy(RoleName=HEAD, PolicyName="start-workers", PolicyDocument=json.dumps(pass_role))
    _admit(boto3.client("ec2", region_name=region), group_name, ssh_from)


def delete(region: str, group_name: str) -> None:
    iam, ec2 = boto3.client("iam"), boto3.client("ec2", region_name=region)
    for group in _groups(ec2, group_name):
        ec2.delete_security_group(GroupId=group["GroupId"])
    for name, policies in MANAGED.items():
        if name not in _names(iam, "list_roles", "Roles", "RoleName"):
            continue
        iam.remove_role_from_instance_profile(InstanceProfileName=name, RoleName=name)
        iam.delete_instance_profile(InstanceProfileName=name)
        for policy in policies:
            iam.detach_role_policy(RoleName=name, PolicyArn=f"arn:aws:iam::aws:policy/{policy}")
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
            iam.delete_role_policy(RoleName=name, PolicyName=policy)
        iam.delete_role(RoleName=name)


def _role(iam: Any, name: str) -> str:
    """Its address, made if it is not there."""
    if name not in _names(iam, "list_roles", "Roles", "RoleName"):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))
    return str(iam.get_role(RoleName=name)["Role"]["Arn"])


def _profile(iam: Any, name: str) -> None:
    if name not in _names(iam, "list_instance_profiles", "InstanceProfiles", "InstanceProfileName"):
        iam.create_instance_profile(InstanceProfileName=name)
    if not iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Roles"]:
        iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)


def _may_pass(role: str) -> dict[str, str]:
    """Whoever starts a machine that has a role must be allowed to give it away."""
    return {"Effect": "Allow", "Action": "iam:PassRole", "Resource": role}


def _names(iam: Any, method: str, key: str, name: str) -> set[str]:
    return {each[name] for page in iam.get_paginator(method).paginate() for each in page[key]}


def _groups(ec2: Any, name: str) -> list[Any]:
    found = ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": [name]}])
    return list(found["SecurityGroups"])


def _admit(ec2: Any, name: str, ssh_from: str) -> None:
    """Each other, and ssh from here; whatever else was let in is not any more."""
    if not (groups := _groups(ec2, name)):
        vpc = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"][0]["VpcId"]
        ec2.create_security_group(GroupName=name, Description="bv_search's machines", VpcId=vpc)
        groups = _groups(ec2, name)
    (group,) = groups
    if before := group["IpPermissions"]:
        ec2.revoke_security_group_ingress(GroupId=group["GroupId"], IpPermissions=before)
    ec2.authorize_security_group_ingress(
        GroupId=group["GroupId"],
        IpPermissions=[
            {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group["GroupId"]}]},
            {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": ssh_from}]},
        ],
    )


def _own_address() -> str:
    with urllib.request.urlopen(OWN_ADDRESS, timeout=10) as answer:
        return f"{answer.read().decode().strip()}/32"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ssh-from", metavar="CIDR", help="addresses that may ssh in; else this machine's")
    parser.add_argument("--delete", action="store_true", help="take everything away again, after `ray down`")
    args = parser.parse_args()
    provider = yaml.safe_load(FILE.read_text(encoding="utf-8"))["provider"]
    region, group = provider["region"], provider["security_group"]["GroupName"]
    if args.delete:
        delete(region, group)
        print(f"{HEAD}, {WORKER} and the security group {group} are gone")
        return
    ssh_from = args.ssh_from or _own_address()
    create(region, group, ssh_from)
    print(f"roles {HEAD} and {WORKER}; security group {group} in {region}: ssh from {ssh_from} alone")


if __name__ == "__main__":
    main()
