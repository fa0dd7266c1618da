"""Peers on anchor graphs against slow transcriptions of their formulae."""

import numpy as np
import pytest

from proxcode.hashing.kernel import default_landmarks
from proxcode.peers import AGH, DGH, IMHTSNE, LGHSR, PEERS, IMHLaplacian, TwoLayerAGH
from proxcode.peers._anchor_graph import AnchorGraphPeer, eigenfunctions, k_means, nearest_anchors
from proxcode.peers.imh import _gradient, _joint, t_sne

ANCHOR_PEERS = {name: peer for name, peer in PEERS.items() if issubclass(peer, AnchorGraphPeer)}
SIZES = {"n_anchors": 25, "n_nearest": 3}


@pytest.fixture
def swiss(rng):
    """Samples along a spiral: one connected component, neighbours by arc length."""
    angle = np.sort(rng.uniform(2, 12, 150))
    return np.column_stack([angle * np.cos(angle), angle * np.sin(angle), rng.normal(size=150)])


def slow_k_means(X, m, seed):
    centres = X[np.random.RandomState(seed).permutation(len(X))[:m]].copy()
    for _ in range(10):
        own = [min(range(m), key=lambda j, x=x: ((x - centres[j]) ** 2).sum()) for x in X]
        for j in set(own):
            centres[j] = np.mean([x for x, o in zip(X, own, strict=True) if o == j], axis=0)
    return centres


def slow_affinity(X, U, s, sigma=None):
    """exp(-d^2 / sigma^2) to the s nearest, dense; and sigma."""
    squared = np.array([[((x - u) ** 2).sum() for u in U] for x in X])
    if sigma is None:
        sigma = np.mean([np.sqrt(sorted(row)[s - 1]) for row in squared])
    W = np.zeros_like(squared)
    for i, row in enumerate(squared):
        for j in sorted(range(len(U)), key=lambda j, row=row: row[j])[:s]:
            W[i, j] = np.exp(-row[j] / sigma**2)
    return W, sigma


def slow_weights(X, U, s, sigma=None):
    W, sigma = slow_affinity(X, U, s, sigma)
    return W / W.sum(axis=1)[:, None], sigma


def slow_spectrum(Z):
    """Eigenvectors of A = Z Lambda^-1 Z', n x n, with mean square 1; largest eigenvalue first."""
    A = Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    values, vectors = np.linalg.eigh(A)
    return A, values[::-1], np.sqrt(len(Z)) * vectors[:, ::-1]


def same_up_to_sign(mine, slow, tolerance=1e-6):
    sign = np.sign((mine * slow).sum(axis=0))
    np.testing.assert_allclose(mine, slow * sign, atol=tolerance)


def test_anchors_weights_and_width(swiss):
    model = AGH(4, **SIZES, random_state=3).fit(swiss)
    U = slow_k_means(swiss, 25, 3)
    np.testing.assert_allclose(model.anchors_, U)
    Z, sigma = slow_weights(swiss, U, 3)
    assert model.sigma_ == pytest.approx(sigma)
    np.testing.assert_allclose(model._anchor_weights(swiss).toarray(), Z, atol=1e-12)
    new = swiss[::-2] + 0.3
    np.testing.assert_allclose(model._anchor_weights(new).toarray(), slow_weights(new, U, 3, sigma)[0], atol=1e-12)


def test_eigenfunctions_are_the_eigenvectors_of_the_whole_graph(swiss):
    model = AGH(4, **SIZES, random_state=3).fit(swiss)
    Z = model._anchor_weights(swiss)
    values, W = eigenfunctions(Z)
    _, slow_values, Y = slow_spectrum(Z.toarray())
    assert slow_values[0] == pytest.approx(1)
    np.testing.assert_allclose(values[:8], slow_values[1:9])
    same_up_to_sign(Z @ W[:, :8], Y[:, 1:9])


def test_agh_is_the_sign_of_each_eigenvector_below_one(swiss):
    model = AGH(6, **SIZES, random_state=0).fit(swiss)
    Z, sigma = slow_weights(swiss, model.anchors_, 3)
    _, values, Y = slow_spectrum(Z)
    Y = Y[:, (values > 0) & (values < 1 - 1e-3)][:, :6]
    mine = model._margins(swiss)
    same_up_to_sign(mine, Y)
    np.testing.assert_array_equal(model.transform(swiss), mine >= 0)
    # A new sample has the weighted mean of its anchors' values, each the mean of its samples' over the eigenvalue.
    new = swiss[::3] + 0.2
    z = slow_weights(new, model.anchors_, 3, sigma)[0]
    kept = values[(values > 0) & (values < 1 - 1e-3)][:6]
    same_up_to_sign(model._margins(new), z @ (Z.T @ Y / Z.sum(axis=0)[:, None]) / kept)


def slow_second_layer(A, y):
    """Scores of the second bit, by least squares of f'(I - A)f over (b+, b-) on the line 1'f = 0."""
    n, positive = len(y), y > 0
    L = np.eye(n) - A
    start = np.abs(y)
    down, up = -1.0 * positive, 1.0 * ~positive  # f = start + b+ down + b- up
    system = np.zeros((3, 3))
    for i, g in enumerate((down, up)):
        for j, h in enumerate((down, up)):
            system[i, j] = 2 * g @ L @ h
        system[i, 2] = system[2, i] = g.sum()
    right = [-2 * down @ L @ start, -2 * up @ L @ start, -start.sum()]
    b_plus, b_minus, _ = np.linalg.solve(system, right)
    return start + b_plus * down + b_minus * up


@pytest.mark.parametrize("n_bits", [1, 8, 9])
def test_two_layer_agh_cuts_each_side_where_the_objective_is_least(n_bits, swiss):
    model = TwoLayerAGH(n_bits, **SIZES, random_state=0).fit(swiss)
    A, _, _ = slow_spectrum(slow_weights(swiss, model.anchors_, 3)[0])
    n_first = (n_bits + 1) // 2
    first = AGH(n_first, **SIZES, random_state=0).fit(swiss)._margins(swiss)
    second = [slow_second_layer(A, y) for y in first[:, : n_bits // 2].T]
    np.testing.assert_allclose(model._margins(swiss), np.column_stack([first, *second]), atol=1e-8)
    assert model.transform(swiss).shape == (150, n_bits)


@pytest.mark.parametrize("n_rotations", [0, 1, 20])
def test_lghsr_follows_the_paper(n_rotations, swiss):
    model = LGHSR(5, **SIZES, n_rotations=n_rotations, random_state=1).fit(swiss)
    Z, _ = slow_weights(swiss, model.anchors_, 3)
    F = np.sqrt(150) * np.linalg.svd(Z @ np.diag(Z.sum(axis=0) ** -0.5))[0][:, 1:6]
    sparse = model._anchor_weights(swiss)
    F = F * np.sign((F * (sparse @ eigenfunctions(sparse)[1][:, :5])).sum(axis=0))
    draw = np.random.RandomState(1)
    draw.permutation(150)
    Q = np.linalg.qr(draw.standard_normal((5, 5)))[0]
    for _ in range(n_rotations):
        B = np.full((150, 5), -1.0)
        for k in range(5):
            B[np.argsort(-(F @ Q)[:, k])[:75], k] = 1
        U, _, V_transposed = np.linalg.svd(B.T @ F)
        Q = V_transposed.T @ U.T
    np.testing.assert_allclose(model._margins(swiss), F @ Q - np.median(F @ Q, axis=0), atol=1e-6)
    assert (model.transform(swiss).sum(axis=0) == 75).all()


def test_imh_le_follows_the_paper(swiss):
    model = IMHLaplacian(5, **SIZES, n_neighbors=6, random_state=0).fit(swiss)
    U = model.anchors_
    G, _ = slow_affinity(U, U, 6)
    W, sigma = slow_affinity(swiss, U, 3)
    Z, _ = slow_weights(swiss, U, 3, sigma)
    m = len(U)
    objective = np.zeros((m, m))  # y'(objective)y for embeddings y of the base samples, by its sum over pairs
    for i in range(m):
        for j in range(m):
            e = np.eye(m)[i] - np.eye(m)[j]
            objective += max(G[i, j], G[j, i]) / 2 * np.outer(e, e)
    for w, z in zip(W, Z, strict=True):
        for j in range(m):
            e = z - np.eye(m)[j]  # the embedding of the sample is zy
            objective += 2 * w[j] * np.outer(e, e)
    values, vectors = np.linalg.eigh(objective)
    same_up_to_sign(model.projection_, vectors[:, values > 1e-3][:, :5])
    np.testing.assert_array_equal(model.transform(swiss), Z @ model.projection_ >= 0)


def slow_divergence(P, Y):
    pairs = [(i, j) for i in range(len(Y)) for j in range(len(Y)) if i != j]
    kernel = {(i, j): 1 / (1 + ((Y[i] - Y[j]) ** 2).sum()) for i, j in pairs}
    total = sum(kernel.values())
    return sum(P[pair] * np.log(P[pair] * total / kernel[pair]) for pair in pairs)


def test_t_sne_gradient_and_perplexity(rng):
    X, Y = rng.normal(size=(12, 4)), rng.normal(size=(12, 3))
    P = _joint(X, 4.0)
    assert P.sum() == pytest.approx(1)
    np.testing.assert_allclose(P, P.T)
    Y -= Y.mean(axis=0)
    mine, step = _gradient(P, Y), 1e-6
    for i in range(12):
        for k in range(3):
            up, down = Y.copy(), Y.copy()
            up[i, k] += step
            down[i, k] -= step
            slope = (slow_divergence(P, up) - slow_divergence(P, down)) / (2 * step)
            assert mine[i, k] == pytest.approx(slope, abs=1e-6)


def test_t_sne_probabilities_have_the_perplexity_asked_for(rng):
    X = rng.normal(size=(15, 3))
    P = _joint(X, 5.0)
    conditional = np.zeros((15, 15))
    for i, x in enumerate(X):
        squared = ((X - x) ** 2).sum(axis=1)

        def row(beta, i=i, squared=squared):
            p = np.exp(-beta * squared)
            p[i] = 0
            return p / p.sum()

        low, high = 1e-3, 1e2
        for _ in range(200):
            middle = np.sqrt(low * high)
            p = row(middle)[np.arange(15) != i]
            low, high = (middle, high) if -(p * np.log(np.maximum(p, 1e-300))).sum() > np.log(5) else (low, middle)
        conditional[i] = row(low)
    np.testing.assert_allclose(P, (conditional + conditional.T) / 30, atol=1e-9)


def test_t_sne_lowers_the_divergence_and_keeps_neighbours(swiss):
    X = swiss[::3]
    Y = t_sne(X, 4, 8.0, np.random.RandomState(0))
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9)
    P = _joint(X, 8.0)
    start = 1e-4 * np.random.RandomState(0).standard_normal(Y.shape)
    assert slow_divergence(P, Y) < slow_divergence(P, start) / 4
    nearest = ((Y[:, None] - Y[None]) ** 2).sum(axis=2) + np.diag(np.full(len(Y), np.inf))
    along = np.abs(nearest.argmin(axis=1) - np.arange(len(Y)))
    assert np.mean(along <= 3) > 0.8


def test_imh_tsne_is_the_weighted_mean_of_embedded_base_samples(swiss):
    model = IMHTSNE(6, **SIZES, random_state=0).fit(swiss)
    draw = np.random.RandomState(0)
    draw.permutation(150)
    np.testing.assert_allclose(model.projection_, t_sne(model.anchors_, 6, 8.0, draw))  # (25 - 1) / 3 is below 10
    new = swiss[::4] + 0.1
    Z, _ = slow_weights(new, model.anchors_, 3, model.sigma_)
    np.testing.assert_array_equal(model.transform(new), Z @ model.projection_ >= 0)


def slow_dgh(Z, H, theta, rho):
    """B by Algorithm 2 with dense matrices, from the start of eq. 8; H has mean square 1."""
    n, r = H.shape
    A = Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    J = np.eye(n) - np.ones((n, n)) / n
    R, B, objectives = np.eye(r), None, []
    while B is None or (np.where(H @ np.diag(theta) @ R >= 0, 1, -1) != B).any():
        B = np.where(H @ np.diag(theta) @ R >= 0, 1, -1)
        U, _, V_transposed = np.linalg.svd(np.diag(theta) @ H.T @ B)
        R = U @ V_transposed
    Y = H @ R
    for _ in range(20):
        for _ in range(300):
            gradient = 2 * A @ B + rho * Y
            B = np.where(gradient == 0, B, np.sign(gradient)).astype(int)
        U, singular, V_transposed = np.linalg.svd(J @ B, full_matrices=False)
        assert singular.min() > 1e-6
        Y = np.sqrt(n) * U @ V_transposed
        objectives.append(np.trace(B.T @ A @ B) + rho * np.trace(B.T @ Y))
    return B, objectives


@pytest.mark.parametrize("rho", [0.1, 2.0])
def test_dgh_follows_the_paper(rho, swiss):
    model = DGH(4, **SIZES, rho=rho, random_state=0).fit(swiss)
    Z, _ = slow_weights(swiss, model.anchors_, 3)
    theta, W = eigenfunctions(model._anchor_weights(swiss))
    B, objectives = slow_dgh(Z, Z @ W[:, :4], theta[:4], rho)
    assert np.all(np.diff(objectives) >= -1e-9)
    np.testing.assert_allclose(model.projection_, (B.T @ Z @ np.diag(1 / Z.sum(axis=0))).T, atol=1e-10)


def test_dgh_fills_up_the_rank_where_bits_repeat(rng):
    from proxcode.peers.dgh import _balanced_uncorrelated

    b = rng.choice([-1.0, 1.0], size=(40, 2))
    B = np.column_stack([b, -b, np.ones(40)])
    Y = _balanced_uncorrelated(B, np.random.RandomState(0))
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Y.T @ Y, 40 * np.eye(5), atol=1e-8)
    singular = np.linalg.svd(B - B.mean(axis=0), compute_uv=False)
    assert np.trace(B.T @ Y) == pytest.approx(np.sqrt(40) * singular.sum())


def test_k_means_and_nearest_over_many_blocks(rng):
    X = rng.normal(size=(5000, 3)) + 1e4
    centres = k_means(X, 7, np.random.RandomState(0))
    own = nearest_anchors(X, centres, 1).anchor[:, 0]
    exact = ((X[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(own, exact.argmin(axis=1))
    np.testing.assert_allclose(nearest_anchors(X, centres, 7).squared, exact, atol=1e-6)


@pytest.mark.parametrize("name", ANCHOR_PEERS)
def test_a_sample_far_from_all_anchors_has_bits(name, swiss):
    model = ANCHOR_PEERS[name](4, **SIZES, random_state=0).fit(swiss)
    far = np.array([[1e6, -1e6, 0.0]])
    assert np.isfinite(model._margins(far)).all()
    assert model.encode(far).shape == (1, 1)


@pytest.mark.parametrize("name", sorted(set(ANCHOR_PEERS) - {"IMH-tSNE"}))
def test_repeated_and_few_samples(name, rng):
    X = np.repeat(rng.normal(size=(15, 4)), 4, axis=0)
    bits = ANCHOR_PEERS[name](2, random_state=0).fit(X).transform(X)
    assert (bits[::4] == bits[3::4]).all()


@pytest.mark.parametrize("name", sorted(set(ANCHOR_PEERS) - {"IMH-tSNE"}))
def test_more_bits_than_eigenvectors_are_refused(name, swiss):
    with pytest.raises(ValueError, match=r"n_bits=60: .* eigenvector.*n_samples=150 with 2\d .*pass at most"):
        ANCHOR_PEERS[name](60, **SIZES, random_state=0).fit(swiss)


def test_the_number_of_bits_named_in_the_refusal_is_accepted(swiss):
    for peer in (AGH, TwoLayerAGH, LGHSR, DGH, IMHLaplacian):
        with pytest.raises(ValueError, match="pass at most") as refusal:
            peer(99, **SIZES, random_state=0).fit(swiss)
        most = int(str(refusal.value).split("at most ")[1].split()[0])
        peer(most, **SIZES, random_state=0).fit(swiss)
        with pytest.raises(ValueError, match="pass at most"):
            peer(most + 1, **SIZES, random_state=0).fit(swiss)


@pytest.mark.parametrize("name", ANCHOR_PEERS)
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_anchors": 1}, ValueError, "n_anchors=1: expected an integer of at least 2"),
        ({"n_anchors": 2.5}, TypeError, r"n_anchors=2\.5: expected an integer"),
        ({"n_nearest": 0}, ValueError, "n_nearest=0: expected an integer from 1 to 300, the number of anchors"),
        (
            {"n_anchors": 4, "n_nearest": 5},
            ValueError,
            "n_nearest=5: expected an integer from 1 to 4, the number of anchors",
        ),
    ],
)
def test_invalid_numbers_of_anchors_are_refused(name, parameters, error, message, swiss):
    with pytest.raises(error, match=message):
        ANCHOR_PEERS[name](4, **parameters).fit(swiss)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LGHSR(4, n_rotations=-1), "n_rotations=-1: expected an integer of at least 0"),
        (DGH(4, rho=-0.5), r"rho=-0\.5: expected a number of at least 0"),
        (DGH(4, rho=float("nan")), "rho=nan: expected a number of at least 0"),
        (IMHLaplacian(4, n_neighbors=1), "n_neighbors=1: expected an integer of at least 2"),
        (IMHTSNE(4, perplexity=1), "perplexity=1: expected a number above 1"),
    ],
)
def test_parameters_of_anchor_peers_out_of_range_are_refused(model, message, swiss):
    with pytest.raises(ValueError, match=message):
        model.fit(swiss)


def test_as_many_anchors_as_kernel_hash_has_landmarks_without_labels(rng):
    model = AGH(2, n_anchors=None, random_state=0).fit(rng.random((1200, 3)))
    # k-means leaves out centres without samples.
    assert 500 < len(model.anchors_) <= default_landmarks(1200, supervised=False, kept=False)


def test_equal_samples_are_refused(swiss):
    for peer in ANCHOR_PEERS.values():
        with pytest.raises(ValueError, match=r"n_samples=1, all equal: .* at least 2 different samples"):
            peer(4).fit(swiss[:1])
        with pytest.raises(ValueError, match="n_samples=9, all equal"):
            peer(4).fit(np.ones((9, 2)))
