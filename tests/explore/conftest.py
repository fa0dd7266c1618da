"""An explorer of 300 digits, its server, and a client."""

import pytest

from helpers.explored import Client, make_explorer
from proxcode.explore import ExploreServer


@pytest.fixture(scope="session")
def explored(train):
    return make_explorer(train[0][:300], train[1][:300])


@pytest.fixture(scope="session")
def server(explored):
    with ExploreServer(explored.explorer) as server:
        yield server


@pytest.fixture(scope="session")
def client(server):
    return Client(server)
