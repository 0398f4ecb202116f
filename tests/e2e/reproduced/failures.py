"""Failures as users have them: small programs that fail in one task, for each of three frameworks.

A failure has a label: the exit code or the signal, and a part of the last line that the task wrote to standard error.
The programs need nothing besides Python. They find their place in the job as programs of the framework do."""

import dataclasses

# How a program of each framework finds its number and the number of workers.
PLACES = {
    "standalone": "rank, world = 0, 1",
    "pytorch": 'rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])',
    "tensorflow": 'config = json.loads(os.environ["TF_CONFIG"])\n'
                  'rank, world = config["task"]["index"], len(config["cluster"]["worker"])',
}
WORKERS = {"standalone": 1, "pytorch": 3, "tensorflow": 2}

# The last worker fails. The others wait for it, as in a collective, until they are ended.
HEAD = """import argparse, ctypes, json, os, resource, socket, sys, time
{place}
if rank != world - 1:
    time.sleep(60)
resume = os.environ.get("TONY_RESUME_FROM")
"""

@dataclasses.dataclass
class Kind:
    name: str
    program: str
    last_line: str
    exit: int = 1  # 128 + N for signal N
    command: str = "python3 train.py"
    files: dict = dataclasses.field(default_factory=dict)
    keys: tuple = ()
    secret: str = ""


KINDS = [
    Kind("missing-file", "open(f'/nowhere/shard-{rank}.csv')",
         "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/shard-"),
    Kind("bad-argument", """
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.parse_args()""", "argument --lr: invalid float value: 'fast'", 2, "python3 train.py --lr fast"),
    Kind("bad-shard", """
rows = [int(row) for row in open(f"shard-{rank}.txt")]
assert min(rows) >= 0, f"negative label in row {rows.index(min(rows))}\"""",
         "AssertionError: negative label in row 2", files={f"shard-{n}.txt": "1\n2\n-3\n" for n in range(3)}),
    Kind("missing-package", "import tensorflow_of_next_year",
         "ModuleNotFoundError: No module named 'tensorflow_of_next_year'"),
    Kind("too-much-memory", """
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
bytearray(2 << 30)""", "MemoryError"),
    Kind("segfault", """
sys.stderr.write("calling the native library\\n")
ctypes.string_at(0)""", "calling the native library", 128 + 11),
    Kind("abort", """
sys.stderr.write("terminate called\\n")
os.abort()""", "terminate called", 128 + 6),
    Kind("exit-code", """
sys.stderr.write("no more data\\n")
sys.exit(3)""", "no more data", 3),
    Kind("exit-text", "sys.exit('expected a GPU, found none')", "expected a GPU, found none"),
    Kind("after-resume", """
if not resume:
    with open(os.environ["TONY_CHECKPOINT_DIR"] + "/step-7", "w") as file:
        file.write("7")
    sys.exit(5)
step = int(open(resume).read())
print(1 / (step - 7))""", "ZeroDivisionError: division by zero",
         keys=("tony.checkpoint.dir={folder}/saved", "tony.restart.gang.budget=1", "tony.restart.backoff-ms=1")),
    Kind("second-attempt", """
if os.environ["TONY_ATTEMPT"] == "1":
    sys.exit(9)
raise RuntimeError("attempt " + os.environ["TONY_ATTEMPT"])""",
         "RuntimeError: attempt 2", keys=("tony.restart.gang.budget=1", "tony.restart.backoff-ms=1")),
    Kind("missing-variable", "open(os.environ['DATASET_OF_TEAM'])", "KeyError: 'DATASET_OF_TEAM'"),
    Kind("wrong-variable", "int(os.environ['BATCH'])",
         "ValueError: invalid literal for int() with base 10: 'large'", keys=("tony.execution.envs=BATCH=large",)),
    Kind("wrong-secret", """
if os.environ["STORE_PASSWORD"] != "right":
    raise PermissionError("the store refused the password")""",
         "PermissionError: the store refused the password", secret="wrong"),
    Kind("bad-config", "json.load(open('config.json'))",
         "json.decoder.JSONDecodeError: Expecting value: line 1 column 8 (char 7)", files={"config.json": '{"lr": }'}),
    Kind("bad-encoding", "open('labels.txt', encoding='utf-8').read()",
         "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff", files={"labels.txt": b"caf\xff"}),
    Kind("port-in-use", """
first, second = socket.socket(), socket.socket()
first.bind(("127.0.0.1", 0))
first.listen()
second.bind(first.getsockname())""", "OSError: [Errno 98] Address already in use"),
    Kind("no-server", "socket.create_connection(('127.0.0.1', 1), 5)",
         "ConnectionRefusedError: [Errno 111] Connection refused"),
    Kind("two-causes", """
try:
    {}["epoch"]
except KeyError as error:
    raise RuntimeError("cannot resume") from error""", "RuntimeError: cannot resume"),
    Kind("shell-script", "", "grep: vocabulary.txt: No such file or directory", 2, "bash train.sh",
         files={"train.sh": "set -e\npython3 train.py\ngrep -c word vocabulary.txt\n"}),
]


@dataclasses.dataclass
class Failure:
    name: str
    framework: str
    kind: Kind

    def program(self):
        return HEAD.format(place=PLACES[self.framework]) + self.kind.program + "\n"


FAILURES = [Failure(f"{framework}-{kind.name}", framework, kind) for kind in KINDS for framework in PLACES]
