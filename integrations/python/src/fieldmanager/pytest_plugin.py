"""A server for the tests of pytest."""

import pytest

from . import Server


def pytest_addoption(parser):
    help = "arguments of `fieldmanager serve`, such as `--crd crds.yaml`; relative paths are below the root of the tests"
    parser.addini("fieldmanager_args", help, type="args", default=[])
    parser.addoption("--fieldmanager", metavar="PATH", help="the program `fieldmanager`")


@pytest.fixture(scope="session")
def fieldmanager_session(pytestconfig):
    """The server of the session, as the tests left it."""
    args = pytestconfig.getini("fieldmanager_args")
    program = pytestconfig.getoption("fieldmanager")
    with Server(*args, program=program, folder=pytestconfig.rootpath) as server:
        yield server


@pytest.fixture
def fieldmanager_server(fieldmanager_session):
    """The server of the session. What a test writes is gone after it: the server goes back to a snapshot, and forgets its
    faults and its log."""
    with fieldmanager_session.snapshot():
        yield fieldmanager_session
