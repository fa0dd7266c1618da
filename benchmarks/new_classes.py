"""Codes for classes that are not in fit: ITQ after the map learned from classes, beside label-driven peers.

    PROXCODE_DATA=/path/to/data python benchmarks/new_classes.py
    python benchmarks/new_classes.py --datasets digits --seeds 10 11

Prints the area under the precision-recall curve over pairs of samples of new classes, and the chosen strength, for each
dataset and seed, then the mean over seeds.
"""

import argparse

import numpy as np

from proxcode.experiments.protocols import Size, unseen_split
from proxcode.hashing.class_map import fit_class_map
from proxcode.metrics import area_under_curve, precision_recall, ranking_counts
from proxcode.peers import PEERS

# Number of known classes, size of the split and code lengths.
LENGTHS = (16, 32, 64, 128)
DATASETS = {
    "banking77": (55, Size(None, 2000), LENGTHS),
    "scene15-gist": (10, Size(5000, 1000), LENGTHS),
    "cifar10-gist": (7, Size(5000, 1000), LENGTHS),
    "mnist": (7, Size(5000, 1000), LENGTHS),
    "digits": (7, Size(5000, 1000), LENGTHS[:2]),
}
COMPARED = ("ITQ", "WCW-ITQ", "LDA-ITQ", "CCA-ITQ")


def area(model, X, y):
    codes = model.encode(X)
    near, far = ranking_counts(codes, codes, y, y, same_set=True)
    return area_under_curve(precision_recall(near.sum(axis=0), far.sum(axis=0)))


def measure(dataset, seed):
    """Return the areas by method, one for each code length, and the chosen strength."""
    n_seen, size, lengths = DATASETS[dataset]
    split = unseen_split(dataset, seed, size, n_seen)
    class_map = fit_class_map(split.train, split.labels, np.random.default_rng(seed))
    train, test = class_map(split.train), class_map(split.test)
    areas = {
        "map + ITQ": [area(PEERS["ITQ"](n, random_state=seed).fit(train), test, split.test_labels) for n in lengths]
    }
    for name in COMPARED:
        models = [PEERS[name](n, random_state=seed).fit(split.train, split.labels) for n in lengths]
        areas[name] = [area(model, split.test, split.test_labels) for model in models]
    return areas, class_map.strength


def show(name, areas):
    print(f"  {name:<10}" + "".join(f"{value:8.3f}" for value in areas), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=list(DATASETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[10, 11, 12, 13, 14])
    options = parser.parse_args()
    for dataset in options.datasets:
        results = []
        for seed in options.seeds:
            areas, strength = measure(dataset, seed)
            print(f"{dataset}, seed {seed}: shrinkage {strength.shrinkage:g}, tau {strength.tau:g}")
            for name, values in areas.items():
                show(name, values)
            results.append(areas)
        print(f"{dataset}, mean over seeds")
        for name in results[0]:
            show(name, np.mean([areas[name] for areas in results], axis=0))


if __name__ == "__main__":
    main()
