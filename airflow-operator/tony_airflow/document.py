# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Turns an operator's parameters into the JSON document that `tony submit -` reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from tony_airflow.cli import Document
from tony_airflow.exceptions import TonyRefused

# Members of the document that have the same name as a parameter.
MEMBERS = (
    *("name", "framework", "tags", "tasks", "executes", "task_params", "src_dir"),
    *("python_venv", "python_binary_path", "container", "mounts", "env", "conf"),
)

Render = Callable[[str], str]


def document_of(operator: Any, directory: str | None, render: Render) -> Document:
    """Returns the operator's job document. `render` renders templates; file names are relative to `directory`."""
    members = {name: _plain(getattr(operator, name)) for name in MEMBERS}
    members["resources"] = _plain(operator.files)
    members["properties"] = _text(operator.properties, (".job", ".properties", ".xml"), directory, render)
    members["spec"] = _parsed(_text(operator.spec, (".json", ".yaml", ".yml"), directory, render))
    for part in (members, members["spec"]):
        _expect_a_task(part.get("tasks") if isinstance(part, Mapping) else None)
    return {name: value for name, value in members.items() if value is not None}


def _plain(value: Any) -> Any:
    """Replaces each pathlib.Path by its text."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return [_plain(member) for member in value] if isinstance(value, (list, tuple)) else value


def _expect_a_task(tasks: Any) -> None:
    """Raises if every role has `instances: 0`, because TonY would run such a job as a single driver."""
    roles = tasks.values() if isinstance(tasks, Mapping) else ()
    if roles and all(isinstance(role, Mapping) and str(role.get("instances", 1)) == "0" for role in roles):
        raise TonyRefused("tasks: no role has an instance; to run only a driver, leave out `tasks`")


def _parsed(spec: Any) -> Any:
    if not isinstance(spec, str):
        return spec
    try:
        return yaml.safe_load(spec)
    except yaml.YAMLError as error:
        raise TonyRefused(f"spec: expected JSON or YAML: {' '.join(str(error).split())}") from None


def _text(value: Any, extensions: tuple[str, ...], directory: str | None, render: Render) -> Any:
    """Returns the rendered content of the file if `value` names one, otherwise `value`.

    Airflow's template_ext is not used, because it would also render a `core-site.xml` that is a file for the tasks.
    """
    is_name = isinstance(value, str) and "\n" not in value and value.endswith(extensions)
    if not is_name and not isinstance(value, os.PathLike):
        return value
    path = os.path.join(directory or "", value)
    try:
        with open(path, encoding="utf-8") as file:
            return render(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise TonyRefused(f"{path}: {error.strerror if isinstance(error, OSError) else error}") from None


def named(document: Document, name: str) -> Document:
    """Gives a job without a name the name of its task, as a default that all other settings override."""
    spec = document.get("spec") or {}
    return {**document, "spec": {"name": name, **spec}} if isinstance(spec, Mapping) else document
