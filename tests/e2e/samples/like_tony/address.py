#!/usr/bin/env python3
"""Prints the address of the role head, or only its port, from the variable in which TonY's Ray example finds it."""

import json
import os
import sys

address = json.loads(os.environ["TF_CONFIG"])["cluster"]["head"][0]
print(address.partition(":")[2] if sys.argv[1:] == ["port"] else address)
