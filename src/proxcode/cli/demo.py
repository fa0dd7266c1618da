"""The demo: learn a code of the digits bundled with scikit-learn, beside LSH and ITQ."""

from time import perf_counter

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from proxcode.code import ProximityPreservingCode
from proxcode.evaluation import MODEL, Evaluation, evaluate

LENGTHS = (8, 16, 32, 64)
TITLE = "64-bit codes of handwritten digits, 797 new ones"


def run_demo(verbose: bool = False) -> Evaluation:
    """Fit the longest code once, read the shorter ones off as prefixes, and measure all on held-out points."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=797, random_state=0, stratify=y)
    start = perf_counter()
    model = ProximityPreservingCode(n_bits=LENGTHS[-1], random_state=0, verbose=verbose).fit(X, y)
    shared = perf_counter() - start - sum(record.seconds for record in model.history_)  # by codes of all lengths
    evaluation = evaluate(model, X_test, y_test, lengths=LENGTHS, train=X)
    evaluation.rows = [
        row._replace(seconds=(row.seconds or 0.0) + shared) if row.method == MODEL else row for row in evaluation.rows
    ]
    return evaluation
