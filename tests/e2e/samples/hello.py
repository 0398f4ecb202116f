"""samples/hello."""

import json
import re

from samples.run import SAMPLES, Run, expect


def hello(bin_folder, _):
    with Run(bin_folder, SAMPLES / "hello" / "job.properties") as run:
        run.finish()
        for index in (0, 1):
            text = run.stdout(f"worker-{index}")
            expect(f"hello from worker:{index}" in text, text)
            config = json.loads(re.search(r"^TF_CONFIG=(.*)$", text, re.M)[1])
            expect(len(config["cluster"]["worker"]) == 2, text)
            expect(config["task"] == {"type": "worker", "index": index}, text)
