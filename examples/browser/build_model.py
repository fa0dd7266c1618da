"""Train the model of the page and write what the page loads: public/model.onnx and public/digits.json.

    python examples/browser/build_model.py [--output FOLDER]

The model learns 64 bits from the first 1,400 of the 1,797 digits of scikit-learn (8 x 8 pixels, values 0 to 16). The
page searches among these; the other 397 are the samples to try, which the model has not seen.
"""

import argparse
import json
from base64 import b64encode
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from proxcode import ProximityPreservingCode, export_onnx

N_TRAINING, N_BITS = 1400, 64
PUBLIC = Path(__file__).parent / "public"


def train():
    """Return the model of the page."""
    X, y = load_digits(return_X_y=True)
    return ProximityPreservingCode(n_bits=N_BITS, random_state=0).fit(X[:N_TRAINING], y[:N_TRAINING])


def text_of(array):
    """Return numbers from 0 to 255 as bytes in base64, row after row."""
    return b64encode(array.astype(np.uint8).tobytes()).decode()


def write(model, folder):
    """Write the files of the page."""
    X, y = load_digits(return_X_y=True)
    training, held_out = slice(N_TRAINING), slice(N_TRAINING, None)
    digits = {
        "n_bits": N_BITS,
        "n_features": X.shape[1],
        "radius": int(model.radius_),
        "training": {
            "codes": text_of(model.encode(X[training])),
            "pixels": text_of(X[training]),
            "labels": text_of(y[training]),
        },
        "held_out": {"pixels": text_of(X[held_out]), "labels": text_of(y[held_out])},
    }
    folder.mkdir(parents=True, exist_ok=True)
    export_onnx(model, folder / "model.onnx", outputs=["codes", "margins"])
    (folder / "digits.json").write_text(json.dumps(digits))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PUBLIC, help="folder of the files (default: public)")
    folder = parser.parse_args().output
    write(train(), folder)
    for name in ("model.onnx", "digits.json"):
        print(f"{folder / name}: {(folder / name).stat().st_size / 1000:,.0f} kB")
