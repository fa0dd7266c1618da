"""One day of an index: a process that loads the model, opens the index and makes the changes of a plan.

    python tests/helpers/month_day.py FOLDER DAY

FOLDER has samples.npy, labels.npy, model.proxcode, items.index and DAY.json, the plan: a list of steps, each the name
of a method and row numbers. A plan can be carried out again from its beginning after the process was killed.
"""

import json
import sys
from pathlib import Path

import numpy as np

import proxcode
from proxcode import HammingIndex

N_BITS = 64


def ids_of(rows):
    return [f"item {row}" for row in rows]


def encode(model, samples):
    # After `extend` the index goes on with the bits that it has.
    return model.encode(samples, N_BITS)


def main(folder, day):
    samples, labels = np.load(folder / "samples.npy"), np.load(folder / "labels.npy")
    path = folder / "model.proxcode"
    model = proxcode.load(path)
    with HammingIndex.open(folder / "items.index", model=model.fingerprint(N_BITS)) as index:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for step, rows in json.loads((folder / f"{day}.json").read_text()):
            if step == "update":
                model.update(samples[rows], labels[rows]).save(path)
            elif step == "extend":
                model.extend(96, samples[rows], labels[rows]).save(path)
            elif step == "remove":
                stored = set(index.ids.tolist())
                index.remove([name for name in ids_of(rows) if name in stored])
            else:
                index.upsert(encode(model, samples[rows]), ids_of(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
