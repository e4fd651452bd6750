"""What every server here does alike."""

import socket

import pytest

from ostinato.errors import BadInput
from ostinato.web import listening


@pytest.mark.parametrize(
    "host", ["300.1.1.1", "127.0.0.1.5", "no.such.host.invalid", "::zz", "192.0.2.1", "a" * 300]
)
def test_a_host_that_is_no_address_of_this_machine_is_told_what_to_give(host):
    with pytest.raises(BadInput, match="is not an address of this machine; give --host 127") as no:
        listening(host, 0, "")
    assert "port" not in str(no.value) and len(str(no.value)) < 300


def test_a_port_that_is_taken_is_told_to_take_another():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(BadInput, match="in use; choose another --port"):
            listening("127.0.0.1", taken.getsockname()[1], "")
    with pytest.raises(BadInput, match="choose another --port"):
        listening("127.0.0.1", 70_000, "")
