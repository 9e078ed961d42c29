"""Programs of the tests; a module is compiled once."""
from pathlib import Path

import pytest

import flc

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def values():
    return flc.compile(HERE / "values.fl")
