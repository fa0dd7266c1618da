# The ridge


def noisy_labels(rng, noise, size):
    """Return points whose first coordinate, of this size, shows their class."""
    classes, X = rng.integers(0, 2, 60), rng.normal(size=(60, 12))
    X[:, 0] = size * (2 * classes - 1 + noise * rng.normal(size=60))
    return X, plus_minus(classes)


def left_out_error(inputs, penalty, labels, ridge):
    """Return the squared error of fits without each point, the penalty being that of all points."""
    n, m = inputs.shape
    design, penalties = np.column_stack([inputs, np.ones(n)]), np.zeros((m + 1, m + 1))
    penalties[:m, :m] = ridge * n * penalty
    error = 0.0
    for point in range(n):
        rest = np.arange(n) != point
        solution = np.linalg.solve(design[rest].T @ design[rest] + penalties, design[rest].T @ labels[rest])
        error += ((labels[point] - design[point] @ solution) ** 2).sum()
    return error


@pytest.mark.parametrize(("noise", "size"), [(0.0, 0.3), (0.3, 0.3), (1.0, 0.3), (1.0, 0.1)])
@pytest.mark.parametrize(
    "hash_function", [LinearHash(), KernelHash(n_landmarks=15), KernelHash()], ids=["linear", "few", "all"]
)
def test_the_ridge_of_least_leave_one_out_error_is_chosen(hash_function, noise, size, rng):
    X, labels = noisy_labels(rng, noise, size)
    bank = clone(hash_function)
    bank.begin(X, np.random.default_rng(0), labels=labels)
    inputs = bank._inputs(X)
    penalty = np.eye(inputs.shape[1])
    if isinstance(bank, KernelHash):
        penalty = bank._centred_kernel(bank.landmarks_) + JITTER * np.eye(len(bank.landmarks_))
    errors = [left_out_error(inputs, penalty, labels, ridge) for ridge in RIDGES]
    assert bank.ridge_ == RIDGES[int(np.argmin(errors))]


def test_every_ridge_is_best_somewhere():
    chosen = set()
    for noise, size in [(0.0, 0.3), (0.3, 0.3), (1.0, 0.3), (1.0, 0.1)]:
        X, labels = noisy_labels(np.random.default_rng(0), noise, size)
        bank = LinearHash()
        bank.begin(X, np.random.default_rng(0), labels=labels)
        chosen.add(bank.ridge_)
    assert chosen == set(RIDGES)


@pytest.mark.parametrize("hash_function", [LinearHash(), KernelHash(n_landmarks=30)], ids=lambda h: type(h).__name__)
def test_a_given_ridge_is_used_as_it_is(hash_function, train):
    model = ProximityPreservingCode(3, hash_function=clone(hash_function).set_params(ridge=0.02), random_state=0)
    assert model.fit(*train).hash_function_.ridge_ == 0.02
    assert model.fit(train[0]).hash_function_.ridge_ == 0.02


def test_more_bits_keep_the_ridge(train, monkeypatch):
    model = ProximityPreservingCode(3, hash_function=LinearHash(), random_state=0).fit(*train)
    ridge = model.hash_function_.ridge_
    assert ridge in RIDGES
    monkeypatch.setattr(proxcode.hashing.ridge, "RIDGES", (0.5,))
    assert model.extend(5).hash_function_.ridge_ == ridge


@pytest.mark.parametrize("hash_function", [LinearHash(), KernelHash(n_landmarks=60)], ids=lambda h: type(h).__name__)
def test_extending_with_other_labels_is_refused_and_leaves_the_model_whole(hash_function, train):
    X, y = train
    model = ProximityPreservingCode(6, hash_function=hash_function, random_state=0).fit(X, y)
    codes = model.encode(X)
    for other in (np.random.default_rng(0).permutation(y), y % 3):
        with pytest.raises(ValueError, match="these bits were learned with other labels"):
            model.extend(7, X, other)
        np.testing.assert_array_equal(model.encode(X), codes)
    assert not any(name.startswith("_") for name in vars(model.hash_function_))
    assert model.extend(7, X, y).n_bits_ == 7


@pytest.mark.parametrize("ridge", [1e-6, 1e-7])
def test_points_that_explain_themselves_show_nothing_of_their_labels(ridge, rng):
    X = rng.normal(size=(100, 400)).astype(np.float32)
    labels = np.where(rng.integers(0, 2, (100, 1)) > 0, [[1, -1]], [[-1, 1]]).astype(np.int8)
    bank = LinearHash(ridge=ridge)
    bank.begin(X, np.random.default_rng(0), labels=labels)
    scores = bank._basis[:, 0] - bank._basis[:, 1]
    if scores.std() > 0:
        assert abs(np.corrcoef(scores, labels[:, 0])[0, 1]) < 0.5


@pytest.mark.parametrize(
    ("hash_function", "message"),
    [
        (KernelHash(gamma=np.inf), "gamma=inf: give a number above 0"),
        (KernelHash(gamma="scale"), "gamma='scale': give a number above 0"),
        (KernelHash(n_landmarks=10.5), "n_landmarks=10.5: give a whole number"),
        (LinearHash(ridge=np.inf), "ridge=inf: give a number above 0"),
        (LinearHash(ridge="a"), "ridge='a': give a number above 0"),
    ],
)
def test_bad_parameters_are_refused(hash_function, message, train):
    with pytest.raises(ValueError, match=message):
        ProximityPreservingCode(2, hash_function=hash_function).fit(*train)


def test_points_too_close_for_single_precision_are_refused(train):
    X, y = train
    with pytest.raises(ValueError, match="vanish in float32: scale X up"):
        ProximityPreservingCode(2, hash_function=KernelHash(n_landmarks=20)).fit((X * 1e-20).astype(np.float32), y)
