"""Drift: batches compared with the samples of the fit, with labels in any form that `fit` takes."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from helpers.new_digit import N_BITS, NEW, fit, held_out_digits, joined, new_digits, old_digits
from proxcode import KernelHash, ProximityPreservingCode, SameLabel, SharedLabel, SVMHash, WithinRadius, unpack


@pytest.fixture(scope="module")
def old():
    return old_digits()


@pytest.fixture(scope="module")
def new():
    return new_digits()


@pytest.fixture(scope="module")
def held_out():
    return held_out_digits()


@pytest.fixture(scope="module")
def model(old):
    return fit(old)


def shares_within(codes, is_near, radius):
    """Return the shares of near and far pairs within a radius, pair by pair."""
    i, j = np.triu_indices(len(codes), 1)
    distances = (codes[i] != codes[j]).sum(axis=1)
    near = is_near[i, j]
    return (distances[near] <= radius).mean(), (distances[~near] <= radius).mean()


def test_batches_like_the_training_samples_are_kept(old, held_out):
    model = fit(old)
    is_old = held_out[1] != NEW
    X, y = held_out[0][is_old], held_out[1][is_old]
    rng = np.random.default_rng(0)
    for size in (30, 100, 300, len(X)):
        rows = rng.permutation(len(X))[:size]
        assert model.drift(X[rows], y[rows]).action == "keep"
        assert model.drift(X[rows]).action == "keep"
    # The balance of one class alone is no drift where the labels say so.
    with_labels, without = model.drift(X[y == 3], y[y == 3]), model.drift(X[y == 3])
    assert with_labels.balance_change < 0.1
    assert without.balance_change > 0.3


def test_batches_of_another_kind_are_noticed(old, new, held_out):
    model = fit(old)
    X, y = held_out
    found = model.drift(16 - X, y)
    assert found.action == "refit"
    assert "fit a new model" in found.advice
    assert model.drift(16 - X).action == "refit"
    found = model.drift(*joined(new, (X[y != NEW], y[y != NEW])))
    assert (found.action, found.new_classes) == ("update", [NEW])
    assert found.advice == "New labels (9): update the model with samples of theirs."
    assert model.update(*new).drift(X, y).action == "keep"


def test_drift_of_few_samples_and_of_models_without_labels(old, new):
    assert fit(old).drift(old[0][:5]).advice == "5 samples are too few to tell: pass 30 or more."
    by_radius = fit((old[0], None), proximity=WithinRadius(mean_neighbors=30))
    assert by_radius.drift(old[0]).near_within is not None
    assert by_radius.drift(16 - old[0]).action == "refit"
    nearest = ProximityPreservingCode(N_BITS, random_state=0).fit(old[0])
    assert nearest.drift(new[0]).near_within is None
    assert fit(old).drift(new[0], [None] * len(new[0])).near_within is None
    assert fit(old).drift(*new).action == "update"


# Figures


def test_figures_are_those_of_all_pairs_and_bits(model, held_out):
    X, y = (array[:200] for array in held_out)
    y = y.astype(object)
    y[::10] = None
    is_used = y != None  # noqa: E711
    found = model.drift(X, y)
    codes = unpack(model.encode(X[is_used]), N_BITS)
    labels = y[is_used].astype(int)
    near, far = shares_within(codes, labels[:, None] == labels, model.radius_)
    assert found.n_samples == 180
    assert (found.near_within, found.far_within) == pytest.approx((near, far))
    of_labels = dict(zip(model.proximity_.classes_, model.hash_function_.label_codes_, strict=True))
    expected = (1 + np.mean([of_labels[label] for label in labels], axis=0)) / 2
    assert found.balance_change == pytest.approx(np.abs(codes.mean(axis=0) - expected).mean())


def test_samples_without_a_label_do_not_change_what_the_others_show(model, held_out):
    X, y = held_out
    is_three = y == 3
    labels = [3] * is_three.sum()
    found = model.drift(X[is_three], labels)
    assert found.balance_change < 0.1
    for missing in (None, -1, ""):
        assert model.drift(X[is_three][1:], labels[1:]) == model.drift(X[is_three], [missing, *labels[1:]])
    assert model.drift(X[is_three], [None] * len(labels)) == model.drift(X[is_three])


def test_one_class_and_minus_one_are_no_error(model, held_out):
    X, _ = held_out
    labels = np.where(np.arange(100) % 2, 3, -1)
    assert model.drift(X[:100], labels).n_samples == 50


def test_after_an_update_the_balance_is_that_of_all_samples(old, new, held_out):
    X, y = joined(old, new)
    model = fit((old[0][:300], old[1][:300]))
    few = old[1] < 2
    model.update(old[0][few], old[1][few])
    batch = X[y < 2]
    weights = model.hash_function_.memory_.class_counts
    expected = (1 + weights @ model.hash_function_.label_codes_ / weights.sum()) / 2
    change = np.abs(unpack(model.encode(batch), N_BITS).mean(axis=0) - expected).mean()
    assert model.drift(batch).balance_change == pytest.approx(change)
    assert change < fit((old[0][:300], old[1][:300])).drift(batch).balance_change


# Forms of y


FORMS = {
    "array": np.asarray,
    "list": list,
    "column": lambda y: np.asarray(y)[:, None],
    "list of lists": lambda y: [[label] for label in y.tolist()],
    "series": lambda y: pd.Series(y, index=np.arange(len(y)) + 7),
    "frame": lambda y: pd.DataFrame({"label": y}),
    "categories": lambda y: pd.Series(y).astype("category"),
    "polars series": pl.Series,
    "polars frame": lambda y: pl.DataFrame({"label": y}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("are_strings", [False, True])
def test_labels_of_any_form_give_the_same(form, are_strings, model, old, held_out):
    X, y = held_out
    names = np.array([f"digit {label}" for label in range(10)])
    fitted = fit((old[0], names[old[1]])) if are_strings else model
    expected = model.drift(X, y)
    found = fitted.drift(X, FORMS[form](names[y] if are_strings else y))
    assert found.new_classes == (["digit 9"] if are_strings else [NEW])
    assert found._replace(new_classes=[NEW]) == expected


@pytest.mark.parametrize("form", FORMS)
def test_models_fitted_to_labels_of_any_form_know_them(form, old):
    assert SameLabel().fit(old[0], FORMS[form](old[1])).classes_ == SameLabel().fit(*old).classes_


def test_tuple_labels(old, held_out):
    X, y = held_out[0][held_out[1] != NEW], held_out[1][held_out[1] != NEW]
    fitted = fit((old[0], [(int(label), "digit") for label in old[1]]), proximity=SameLabel())
    found = fitted.drift(X, [(int(label), "digit") for label in y])
    codes = unpack(fitted.encode(X), N_BITS)
    expected = shares_within(codes, y[:, None] == y, fitted.radius_)
    assert (found.near_within, found.far_within) == pytest.approx(expected)
    assert found.new_classes == []
    assert not found.is_updatable


@pytest.mark.parametrize("form", [np.asarray, sp.coo_matrix, sp.csr_array, pd.DataFrame, lambda y: y.tolist()])
def test_label_sets(form, old):
    X, y = old
    sets = np.stack([y % 2 == 0, y % 3 == 0, y > 5], axis=1).astype(int)
    fitted = fit((X, sets), n_bits=8, proximity=SharedLabel())
    found = fitted.drift(X[:200], form(sets[:200]))
    expected = shares_within(unpack(fitted.encode(X[:200]), 8), sets[:200] @ sets[:200].T > 0, fitted.radius_)
    assert (found.near_within, found.far_within) == pytest.approx(expected)
    assert not found.is_updatable
    with pytest.raises(ValueError, match="X has 200 samples but y has 3 labels: pass one label per sample"):
        fitted.drift(X[:200], form(sets[:3]))


@pytest.mark.parametrize("n_labels", [3, 201])
def test_another_number_of_labels_is_refused(n_labels, model, old):
    with pytest.raises(ValueError, match=f"X has 200 samples but y has {n_labels} labels: pass one label per sample"):
        model.drift(old[0][:200], old[1][:n_labels])


def test_labels_of_another_kind_than_in_fit_are_refused(model, old):
    with pytest.raises(ValueError, match="labels that are neither numbers nor strings, or more than 10,000: pass"):
        model.drift(old[0][:2], [(1, 2), (3, 4)])


# Advice


def test_models_that_update_refuses_are_not_said_to_be_updatable(old, new):
    X, y = old[0][:300], old[1][:300]
    tuples = [(int(label), 0) for label in y]
    for data, parameters, is_updatable in (
        ((X, y), {}, True),
        ((X, tuples), {"proximity": SameLabel()}, False),
        ((X, y), {"hash_function": KernelHash(updatable=False)}, False),
        ((X, y), {"hash_function": SVMHash()}, False),
        ((X, None), {}, False),
    ):
        fitted = fit(data, n_bits=4, **parameters)
        assert fitted.drift(X).is_updatable == is_updatable
        if not is_updatable:
            with pytest.raises(ValueError, match="model"):
                fitted.update(*new)


def test_data_frames_raise_no_warning(old):
    X = pd.DataFrame(old[0]).add_prefix("pixel ")
    fitted = fit((X, old[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fitted.drift(X, pd.Series(old[1]))
    assert found.action == "keep"
