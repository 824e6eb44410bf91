"""One host and one provider for all tests here; the filter in both forms that it comes in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import setup_host
from e2e.host import ADMIN_EMAIL, ADMIN_PASSWORD, Host, start_host
from e2e.talk import FILTER, PLAIN_MODEL, PRICED_MODEL, WINDOW, WINDOW_MODEL
from e2e.upstream import Upstream
from e2e.webapi import WebApi

THREE_LINES = '''"""
title: eunoe
"""
from eunoe_openwebui import Filter
'''
SINGLE_FILE = Path(__file__).resolve().parents[2] / "standalone" / "eunoe_filter.py"
PACKAGE_FILTER = SINGLE_FILE.parents[1] / "adapters" / "eunoe_openwebui" / "filter.py"
FORMS = {
    "package": PACKAGE_FILTER.read_text().replace('"""', '"""\ntitle: eunoe\n', 1),
    "three-lines": THREE_LINES,
    "single-file": SINGLE_FILE.read_text(),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is an end-to-end test."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    """The provider; one model tells its window, one does not, and one has a list price."""
    common = {"object": "model", "owned_by": "nobody", "created": 0}
    told = {"id": WINDOW_MODEL, "max_model_len": WINDOW, **common}
    others = ({"id": name, **common} for name in (PLAIN_MODEL, PRICED_MODEL))
    provider = Upstream(models=(told, *others))
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope="session")
def host(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A fresh Open WebUI with this project installed in it."""
    setup_host.install_host()
    setup_host.install_project()
    folder = tmp_path_factory.mktemp("open-webui")
    running = start_host(setup_host.host_python(), folder, upstream.url)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def admin(host: Host) -> WebApi:
    """The administrator."""
    api = WebApi(host.url)
    api.sign_in(ADMIN_EMAIL, ADMIN_PASSWORD)
    seen = {"ui": {"version": setup_host.HOST_VERSION}}  # no "What's new" over the page
    api.call("POST", "/api/v1/users/user/settings/update", seen)
    return api


@pytest.fixture(scope="session", params=FORMS)
def installed(request: pytest.FixtureRequest, admin: WebApi) -> Iterator[str]:
    """The filter, switched on for all models, in one of its forms -> the name of the form."""
    with admin.installed(FILTER, "eunoe", FORMS[request.param]):
        yield str(request.param)


@pytest.fixture
def fresh(installed: str, admin: WebApi, upstream: Upstream) -> Upstream:
    """The provider with an empty log, the filter with the valves of a new installation."""
    admin.set_valves(FILTER, {})
    upstream.reset()
    return upstream
