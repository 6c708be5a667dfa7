"""The servers of examples/, which several tests start and one process builds."""

import pytest

from ..support.servers import SERVERS


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the command that starts the server in each language whose tools are installed."""
    return {
        server.language: server.command(tmp_path_factory.mktemp(server.language))
        for server in SERVERS
        if not server.missing_tools
    }
