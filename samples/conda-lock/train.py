"""Fits a line to points around that line, and prints the packages of its environment."""

import json
import os
import pathlib
import random

numbers = random.Random(int(os.environ["TASK_INDEX"]))
xs = [numbers.uniform(-1, 1) for _ in range(1000)]
ys = [3 * x + 1 + numbers.gauss(0, 0.1) for x in xs]
mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)
print(f"slope {slope:.2f} offset {mean_y - slope * mean_x:.2f}")
packages = [json.loads(file.read_text()) for file in sorted(pathlib.Path("venv/conda-meta").glob("*.json"))]
print(*(f"{package['name']} {package['version']}" for package in packages), flush=True)
