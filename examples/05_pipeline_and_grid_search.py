"""
Pipeline and grid search
========================

A code is the last step of a scikit-learn pipeline, with its parameters chosen by cross-validation, in one file.
:class:`~proxcode.ProximityPreservingCode` is a transformer. Its components are nested parameters, such as
``code__hash_function__ridge`` of a step named "code", and ``score`` is the area under the precision-recall curve of
near pairs, so that ``GridSearchCV`` needs no scoring function. The parameters are chosen on training images; the images
of the last lines were not used.
:class:`~proxcode.CodePipeline` is a ``Pipeline`` that encodes, searches and is saved as one model.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import proxcode
from proxcode import CodePipeline, ProximityPreservingCode

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=600, random_state=0, stratify=y)

code = ProximityPreservingCode(random_state=0)
pipeline = CodePipeline([("scale", StandardScaler()), ("reduce", PCA(20, random_state=0)), ("code", code)])
grid = {"code__n_bits": [8, 24], "code__hash_function__ridge": [1e-6, 1e-4, 1e-2]}
search = GridSearchCV(pipeline, grid, cv=2).fit(X_train, y_train)

print("area under the precision-recall curve, mean of two folds")
results = search.cv_results_
for parameters, area in zip(results["params"], results["mean_test_score"], strict=True):
    n_bits, ridge = parameters["code__n_bits"], parameters["code__hash_function__ridge"]
    print(f"  {n_bits:2} bits, ridge {ridge:<6g}  {area:.3f}")
print(f"best number of bits: {search.best_params_['code__n_bits']}")
print(f"area on {len(X_new)} new images: {search.score(X_new, y_new):.3f}")

# %%
# More bits help; the penalty of the kernel regression has its best value between the ends of the grid.
_, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
areas = results["mean_test_score"].reshape(len(grid["code__hash_function__ridge"]), len(grid["code__n_bits"]))
for n_bits, line in zip(grid["code__n_bits"], areas.T, strict=True):
    ax.semilogx(grid["code__hash_function__ridge"], line, "o-", label=f"{n_bits} bits")
ax.set(xlabel="ridge", ylabel="area under the\nprecision-recall curve")
ax.legend()
plt.show()

# %%
# The best pipeline is a model, in a file that holds no pickle: it encodes images as they are.
best = search.best_estimator_
with TemporaryDirectory() as folder:
    path = Path(folder) / "digits.proxcode"
    best.save(path)
    loaded = proxcode.load(path)
    print(f"{path.name}, {path.stat().st_size // 1000} kB: {' > '.join(name for name, _ in loaded.steps)}")
assert (loaded.encode(X_new) == best.encode(X_new)).all()
index = loaded.index(loaded.encode(X_train))
nearest = y_train[loaded.search(index, X_new, k=10).neighbor]
print(f"of 10 nearest neighbours, {(nearest == y_new[:, None]).mean():.1%} have the digit of the new image")

# %%
# The bits of a pipeline are features for any other estimator.
classifier = make_pipeline(search.best_estimator_, KNeighborsClassifier(metric="hamming")).fit(X_train, y_train)
baseline = make_pipeline(StandardScaler(), PCA(20), KNeighborsClassifier()).fit(X_train, y_train)
print(f"accuracy of 5 nearest neighbours: {classifier.score(X_new, y_new):.3f} by codes", end=", ")
print(f"{baseline.score(X_new, y_new):.3f} by 20 principal components")
