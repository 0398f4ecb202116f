# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""The description of this package for Airflow (`airflow providers get airflow-provider-tony`).

This module imports nothing from Airflow, because Airflow reads it while Airflow itself is still being imported.
"""

from __future__ import annotations

from typing import Any

from tony_airflow import __version__

# Label and description of each extra field of the connection. hooks/tony.py reads the fields.
CONNECTION_FIELDS = {
    "cli": (
        "tony command",
        "path of the program tony, in a folder that [tony] cli_folders lists; empty: the tony of the package "
        "tony-runtime, or else the tony in $PATH",
    ),
    "home": ("Home", "$TONY_HOME, the folder of the jobs; empty: the worker's $TONY_HOME"),
    "conf_dir": ("Configuration", "$TONY_CONF_DIR, the folder of tony-site.xml; empty: the worker's $TONY_CONF_DIR"),
    "proxy_user": (
        "Proxy user",
        "the user of a Hadoop cluster for whom the tasks act, if the cluster allows it (hadoop.proxyuser.*)",
    ),
    "namespace": ("Namespace", "a word that distinguishes this Airflow from others that use the same tony"),
    "history_url": ("History", "the address that `tony portal` prints; links of ended jobs lead there"),
}

# Default of the setting cli_folders, which program.py reads.
CLI_FOLDERS = "/usr/bin:/usr/local/bin:/opt/tony/bin"


def get_provider_info() -> dict[str, Any]:
    text = {"type": ["string", "null"]}
    return {
        "package-name": "airflow-provider-tony",
        "name": "TonY",
        "description": "Runs distributed training jobs with TonY.",
        "versions": [__version__],
        "integrations": [{"integration-name": "TonY", "external-doc-url": "", "tags": ["software"]}],
        "operators": [{"integration-name": "TonY", "python-modules": ["tony_airflow.operators.tony"]}],
        "sensors": [{"integration-name": "TonY", "python-modules": ["tony_airflow.sensors.tony"]}],
        "hooks": [{"integration-name": "TonY", "python-modules": ["tony_airflow.hooks.tony"]}],
        "triggers": [{"integration-name": "TonY", "python-modules": ["tony_airflow.triggers.tony"]}],
        "connection-types": [
            {
                "connection-type": "tony",
                "hook-class-name": "tony_airflow.hooks.tony.TonyHook",
                "hook-name": "TonY",
                "ui-field-behaviour": {"hidden-fields": ["host", "port", "schema", "login", "password"]},
                "conn-fields": {
                    name: {"label": label, "description": about, "schema": text}
                    for name, (label, about) in CONNECTION_FIELDS.items()
                },
            }
        ],
        "config": {
            "tony": {
                "description": "Settings of the TonY provider.",
                "options": {
                    "cli_folders": {
                        "description": "Folders, separated by colons. A connection's extra field cli may name a "
                        "program tony in or below one of them. The administrator sets this, because a user who may "
                        "edit connections must not be able to run arbitrary programs on the workers.",
                        "version_added": "0.2.0",
                        "type": "string",
                        "example": "/opt/tony/bin:/srv/tony",
                        "default": CLI_FOLDERS,
                    }
                },
            }
        },
        "extra-links": [
            f"tony_airflow.links.tony.{link}" for link in ("TonyJobLink", "TonyLogsLink", "TonyTensorBoardLink")
        ],
    }
