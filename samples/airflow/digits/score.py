"""Third step: measures the model's accuracy on the rows that were held out, and finds the digit with the lowest one.

    score.py --model FILE --data FOLDER

The next steps get the last line of the output. Needs src/ in PYTHONPATH.
"""

import argparse
import json
import os

import numpy as np
from digits import accuracy, load_rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    args = parser.parse_args()

    pixels, labels = load_rows(os.path.join(args.data, "held-out"))
    with np.load(args.model) as model:
        weights, bias = model["weights"], model["bias"]
    of_digit = {digit: accuracy(weights, bias, pixels[labels == digit], digit) for digit in range(10)}
    for digit, measured in of_digit.items():
        print(f"{digit}: {measured:.3f} of {np.count_nonzero(labels == digit)}")
    worst = min(of_digit, key=of_digit.get)
    print(json.dumps({"accuracy": round(accuracy(weights, bias, pixels, labels), 4), "worst_digit": worst}))


if __name__ == "__main__":
    main()
