"""Object storage for tests: a local S3 server, spoken to over HTTP."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def local_bucket() -> Iterator[str]:
    """The address of an empty bucket; needs the development extras."""
    server_module = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        name = f"bucket-{uuid.uuid4().hex}"  # servers of one process share their contents
        s3fs.S3FileSystem().mkdir(name)
        try:
            yield f"s3://{name}"
        finally:
            s3fs.S3FileSystem.clear_instance_cache()
            server.stop()
