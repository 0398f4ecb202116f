# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""What an operator's parameters say, as the one JSON document that `tony submit -` reads."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import yaml

from tony_airflow.cli import Document
from tony_airflow.exceptions import TonyRefused

# Members of the document that are parameters of the same name.
MEMBERS = (
    *("name", "framework", "tags", "tasks", "executes", "task_params", "src_dir"),
    *("python_venv", "python_binary_path", "env", "conf"),
)

Render = Callable[[str], str]


def document_of(operator: Any, directory: str | None, render: Render) -> Document:
    """`render` is what templates become; files are looked for in `directory`."""
    members = {name: getattr(operator, name) for name in MEMBERS}
    members["resources"] = operator.files
    members["properties"] = _text(operator.properties, (".job", ".properties", ".xml"), directory, render)
    members["spec"] = _parsed(_text(operator.spec, (".json", ".yaml", ".yml"), directory, render))
    return {name: value for name, value in members.items() if value is not None}


def _parsed(spec: Any) -> Any:
    if not isinstance(spec, str):
        return spec
    try:
        return yaml.safe_load(spec)
    except yaml.YAMLError as error:
        raise TonyRefused(f"spec: neither JSON nor YAML: {' '.join(str(error).split())}") from None


def _text(value: Any, extensions: tuple[str, ...], directory: str | None, render: Render) -> Any:
    """The content of a file, if that is what the value names.

    Not by template_ext, which would also take a file `core-site.xml` for the tasks for the name of a template.
    """
    if not isinstance(value, str) or "\n" in value or not value.endswith(extensions):
        return value
    path = os.path.join(directory or "", value)
    try:
        with open(path, encoding="utf-8") as file:
            return render(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise TonyRefused(f"{path}: {error.strerror if isinstance(error, OSError) else error}") from None
