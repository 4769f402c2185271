"""What an EC2 server has, written down whenever it changes: python instances.py REGION FILE, as JSON.

It runs by itself, on the host of the server, so it imports nothing of the tests.
"""

import json
import sys
import time
from pathlib import Path

import boto3


def main() -> None:
    region, place = sys.argv[1], Path(sys.argv[2])
    ec2 = boto3.client("ec2", region_name=region)
    before = ""
    while True:
        found = [
            each
            for reservation in ec2.describe_instances()["Reservations"]
            for each in reservation["Instances"]
        ]
        said = {
            "instances": found,
            "spot": [each["InstanceId"] for each in found if each.get("InstanceLifecycle") == "spot"],
            "groups": ec2.describe_security_groups()["SecurityGroups"],
        }
        now = json.dumps(said, default=str)
        if now != before:
            place.with_suffix(".new").write_text(now)
            place.with_suffix(".new").replace(place)
            before = now
        time.sleep(0.3)


if __name__ == "__main__":
    main()
