"""Last step: deploys the model if its accuracy is as the training reported it, and good enough.

    deploy.py --model FILE --data FOLDER --accuracy SAID --least-accuracy LIMIT --to FILE
"""

import argparse
import os
import shutil
import sys

import numpy as np
from digits import accuracy, load_rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--accuracy", type=float, required=True)
    parser.add_argument("--least-accuracy", type=float, required=True)
    parser.add_argument("--to", required=True)
    args = parser.parse_args()

    pixels, labels = load_rows(os.path.join(args.data, "held-out"))
    with np.load(args.model) as model:
        measured = accuracy(model["weights"], model["bias"], pixels, labels)
    print(f"accuracy {args.accuracy}; measured again on {len(labels)} rows: {measured:.4f}")
    if abs(measured - args.accuracy) > 0.001:
        sys.exit(f"{args.model}: the accuracy differs, so this is not the model that was trained: not deployed")
    if measured < args.least_accuracy:
        sys.exit(f"accuracy {measured:.4f} is below least.accuracy={args.least_accuracy}: not deployed")

    os.makedirs(os.path.dirname(args.to), exist_ok=True)
    shutil.copyfile(args.model, args.to + ".new")
    # The file is renamed, so that a reader finds the whole old model or the whole new model.
    os.replace(args.to + ".new", args.to)
    print(f"deployed {args.to}")


if __name__ == "__main__":
    main()
