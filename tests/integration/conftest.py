"""Fixtures of the integration tests."""
import pytest

import corpora
import faults
import harness


@pytest.fixture
def workplace():
    with harness.Workplace() as place:
        yield place


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory):
    """A generated corpus of about 4 million tokens."""
    return corpora.generated(str(tmp_path_factory.mktemp("corpus")))


@pytest.fixture(scope="session", params=["real", "generated"])
def corpus(request):
    """The real text where it is there; and generated documents, everywhere."""
    found = corpora.real() if request.param == "real" else None
    if request.param == "real" and not found:
        pytest.skip("the real corpus is not here")
    return found or request.getfixturevalue("small_corpus")


@pytest.fixture
def control(workplace):
    """The fault shim; tests that cannot have it are skipped."""
    if "thread" in harness.sanitizers():
        pytest.skip("the thread sanitizer's runtime does not stand behind a shim")
    with faults.faults(workplace) as found:
        found.run([harness.program("ballastctl"), "--version"], faults.MEMORY)
        if not found.count():
            pytest.skip("this sanitizer's allocator is linked into the program: no shim before it")
        yield found
