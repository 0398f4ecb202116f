"""Writes small projects in either of Azkaban's formats."""

import json

FORMATS = ("2.0", "1.0")
HOLD = 'touch "$HERE/$TONY_STEP.up"; until [ -e "$HERE/go" ]; do sleep 0.05; done; '  # the task waits for let_go()


def command(name, script, after=()):
    """A step that runs a shell script."""
    return {"name": name, "type": "command", "after": after, "script": script}


def tony(name, script, after=(), properties=None, kind="tony"):
    """A tony step with one task, which runs a shell script."""
    return {"name": name, "type": kind, "after": after, "script": script, **(properties or {})}


def embedded(name, steps, after=()):
    """A step that is a flow; in the new format only."""
    return {"name": name, "type": "flow", "after": after, "steps": steps}


def project(version, steps, config=None):
    """Returns a function that writes these steps into a folder, as Executor.run expects it. `config` holds
    properties of the flow, or of the shared file in the old format. The flow's name is "flow" in the new format, and
    the name of the last step in the old one."""

    def write(folder):
        (folder / "src").mkdir()
        nodes = [node(folder, step) for step in steps]
        (write_yaml if version == "2.0" else write_jobs)(folder, nodes, config or {})

    return write


def flow_name(version, steps):
    return "flow" if version == "2.0" else steps[-1]["name"]


def node(folder, step):
    if step["type"] == "flow":
        nodes = [node(folder, inner) for inner in step["steps"]]
        return {"name": step["name"], "type": "flow", "dependsOn": list(step["after"]), "nodes": nodes}
    step = dict(step)
    name, kind, after, script = (step.pop(key) for key in ("name", "type", "after", "script"))
    file = folder / "src" / f"{name}.sh"
    file.write_text(script + "\n", encoding="utf-8")
    if kind == "command":
        properties = {"command": f"sh {file}"}
    else:
        properties = {"executes": f"bash {file.name}", "tony.application.framework": "standalone",
                      "tony.worker.instances": "1", "worker_env.HERE": str(folder),
                      "worker_env.TONY_STEP": name}  # fmt: skip
    properties |= {key: str(value) for key, value in step.items()}
    return {"name": name, "type": kind, "dependsOn": list(after), "config": properties}


def write_yaml(folder, nodes, config):
    """Writes JSON, which is YAML, too."""
    flow = {"nodes": nodes} | ({"config": config} if config else {})
    (folder / "flow20.project").write_text("azkaban-flow-version: 2.0\n")
    (folder / "flow.flow").write_text(json.dumps(flow, ensure_ascii=False), encoding="utf-8")


def write_jobs(folder, nodes, config):
    if config:
        (folder / "shared.properties").write_text(lines(config), encoding="latin-1")
    for node in nodes:
        after = {"dependencies": ",".join(node["dependsOn"])} if node["dependsOn"] else {}
        (folder / f"{node['name']}.job").write_text(lines({"type": node["type"], **after, **node["config"]}))


def lines(properties):
    """Writes Java's format: ASCII, with a backslash before special characters."""
    return "".join(f"{key}={escaped(value)}\n" for key, value in properties.items())


def escaped(value):
    text = "".join(f"\\{char}" if char in "\\=:#! " else char for char in value).replace("\n", "\\n")
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(code) if 32 <= code < 127 else f"\\u{code:04X}" for code in codes)
