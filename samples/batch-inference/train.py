"""Makes the model that score.py uses: python train.py model.npz"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

TRAINING_PICTURES = 1200


def main():
    pixels, labels = load_digits(return_X_y=True)
    classifier = LogisticRegression(max_iter=300).fit(pixels[:TRAINING_PICTURES] / 16, labels[:TRAINING_PICTURES])
    np.savez(sys.argv[1], weights=classifier.coef_.T, bias=classifier.intercept_)


if __name__ == "__main__":
    main()
