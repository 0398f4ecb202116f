"""Fits a line to points around that line, and prints the path of its numpy."""

import os
import sys

import numpy as np

random = np.random.default_rng(int(os.environ["TASK_INDEX"]))
x = random.uniform(-1, 1, 1000)
y = 3 * x + 1 + random.normal(0, 0.1, 1000)
slope, offset = np.polyfit(x, y, 1)
print(f"slope {slope:.2f} offset {offset:.2f}")
print(f"numpy {np.__version__} of {np.__file__} in {sys.prefix}", flush=True)
