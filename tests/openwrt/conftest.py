# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a router for all tests of a file."""

import pytest

import router as openwrt


@pytest.fixture(scope="module")
def module_router():
    reason = openwrt.why_not()
    if reason:
        pytest.skip(reason)
    openwrt.build()
    one = openwrt.Router()
    yield one
    one.halt()


@pytest.fixture
def router(module_router):
    """With the configuration as it is installed, and nothing running."""
    module_router.reset()
    yield module_router
    module_router.stop_all()
