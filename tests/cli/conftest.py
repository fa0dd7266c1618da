"""A model, and a folder with vectors, labels, new vectors, the model, codes and an index."""

import numpy as np
import pytest

from helpers.command_line import N_BITS
from helpers.databases import clickhouse, connect, connection, postgres_address  # noqa: F401
from proxcode import ProximityPreservingCode


@pytest.fixture(scope="session")
def model(train):
    return ProximityPreservingCode(N_BITS, random_state=0).fit(*train)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, model, train, new):
    """Vectors, labels, new vectors, a model, codes and an index."""
    folder = tmp_path_factory.mktemp("user")
    for name, array in {"train": train[0], "labels": train[1], "new": new[0], "new_labels": new[1]}.items():
        np.save(folder / f"{name}.npy", array)
    model.save(folder / "api.proxcode")
    np.save(folder / "codes.npy", model.encode(train[0]))
    np.save(folder / "queries.npy", new[0][:30])
    np.save(folder / "query_codes.npy", model.encode(new[0][:30]))
    model.index(model.codes_, np.arange(len(train[0])) + 1000).save(folder / "saved.index")
    (folder / "graph.csv").write_text("ann,bob,2\nbob,cid,-1\ncid,ann,1.5\ncid,dan,-3\ndan,eve,0\neve,ann,1\n")
    return folder
