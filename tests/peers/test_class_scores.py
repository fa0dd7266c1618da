"""Codewords learned by class scores against codewords learned bit by bit."""

import pickle

import numpy as np
import pytest
from sklearn.utils import check_random_state

from helpers.banks import append, begin
from proxcode import KernelHash, LinearHash
from proxcode.peers import ClassifierCode, Hadamard
from proxcode.peers.hadamard import hadamard_codewords

RIDGE_HASHES = [LinearHash(ridge=1e-3), KernelHash(n_landmarks=50, ridge=1e-3)]


def words_learned_bit_by_bit(hash_function, train, words, rng):
    X, y = train
    hashed, training = begin(hash_function, X, seed=rng.randint(2**31))
    for bit in words.T:
        append(training, bit[y])
    hashed.finish(training, words.shape[1])
    return hashed


@pytest.mark.parametrize("hash_function", RIDGE_HASHES, ids=lambda h: type(h).__name__)
def test_codewords_by_class_scores_are_those_learned_bit_by_bit(hash_function, train, new):
    peer = Hadamard(n_bits=24, hash_function=hash_function, random_state=0).fit(*train)
    assert peer.hash_function_.posteriors_ is not None
    rng = check_random_state(0)
    words = hadamard_codewords(10, 24, rng)
    hashed = words_learned_bit_by_bit(hash_function, train, words, rng)
    np.testing.assert_array_equal(peer.codewords_, words)
    np.testing.assert_allclose(peer._word_scores(new[0]), hashed.scores(new[0], 24), atol=1e-6)
    np.testing.assert_array_equal(peer.transform(new[0]), hashed.scores(new[0], 24) >= 0)


@pytest.mark.parametrize("n_bits", [6, 12])
@pytest.mark.parametrize("hash_function", RIDGE_HASHES, ids=lambda h: type(h).__name__)
def test_the_class_of_the_largest_score_is_predicted(hash_function, n_bits, train, new):
    peer = ClassifierCode(n_bits=n_bits, hash_function=hash_function, random_state=0).fit(*train)
    rng = check_random_state(0)
    if n_bits < 10:
        hadamard_codewords(10, n_bits, rng)
    hashed = words_learned_bit_by_bit(hash_function, train, 2 * np.eye(10, dtype=np.int8) - 1, rng)
    scores = hashed.scores(new[0], 10)
    np.testing.assert_allclose(peer._word_scores(new[0]), scores, atol=1e-6)
    predicted = scores.argmax(axis=1)
    assert (predicted == new[1]).mean() > 0.8
    np.testing.assert_array_equal(peer.transform(new[0]), peer.codewords_[predicted] > 0)


def test_a_hash_function_with_few_features_learns_words_bit_by_bit(train, new):
    hash_function = KernelHash(n_landmarks=15, ridge=1e-3)
    peer = Hadamard(n_bits=8, hash_function=hash_function, random_state=0).fit(*train)
    assert peer.hash_function_.n_bits_ == 8
    rng = check_random_state(0)
    hashed = words_learned_bit_by_bit(hash_function, train, hadamard_codewords(10, 8, rng), rng)
    np.testing.assert_allclose(peer._word_scores(new[0]), hashed.scores(new[0], 8), atol=1e-10)


def test_a_peer_by_class_scores_pickles(train, new):
    peer = Hadamard(n_bits=8, hash_function=RIDGE_HASHES[1], random_state=0).fit(*train)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(peer)).encode(new[0]), peer.encode(new[0]))
