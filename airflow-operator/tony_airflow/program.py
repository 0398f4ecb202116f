# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Checks the program that a connection names, so that users who edit connections cannot run arbitrary programs."""

from __future__ import annotations

import os

from tony_airflow._compat import conf
from tony_airflow.exceptions import TonyRefused
from tony_airflow.get_provider_info import CLI_FOLDERS

NAME = "tony"
SETTING = "[tony] cli_folders"  # in Airflow's own configuration


def allowed(cli: str | None) -> str:
    """Returns the program to run: "tony" alone, or a path `.../tony` in or below a folder of the setting."""
    if not cli or cli == NAME:
        return NAME
    if not os.path.isabs(cli) or os.path.basename(cli) != NAME or os.path.normpath(cli) != cli:
        raise TonyRefused(f"the connection's cli {cli!r}: expected {NAME}, or an absolute path that ends in /{NAME}")
    folders = [folder for folder in conf.get("tony", "cli_folders", fallback=CLI_FOLDERS).split(":") if folder]
    if not any(cli.startswith(os.path.join(os.path.normpath(folder), "")) for folder in folders):
        listed = ":".join(folders)
        raise TonyRefused(f"the connection's cli {cli!r} is not in a folder that the setting {SETTING} lists: {listed}")
    return cli
