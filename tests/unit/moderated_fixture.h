/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moderated_fixture: a handler_fixture whose host hides a message after two reports, and destroys
 * at once what is removed.
 */
#pragma once

#include "tests/lib/check.h"
#include "tests/lib/handler_fixture.h"

enum { LONG_S = 3600 };

#define MODERATED_TEST(name) \
    TEST_OF(name, struct handler_fixture *fixture, set_up_moderated, handler_fixture_tear_down)

static inline int set_up_moderated(void **state)
{
    struct handler_fixture *fixture = handler_fixture_new();

    config_add_host(&fixture->config, "default");
    handler_fixture_set(fixture, "host default", "hide_after", "2");
    handler_fixture_set(fixture, "host default", "remove_after", "0");
    handler_fixture_start(fixture);
    *state = fixture;
    return 0;
}

/* A deposit, which must succeed. */
static inline void deposit(struct handler_fixture *fixture, uint8_t number, const char *text)
{
    assert_int_equal(handler_fixture_do(fixture, handler_fixture_deposit(number, text, LONG_S)),
                     HEARSAY_RESPONSE_DEPOSITED);
}

/* What handler_fixture_about asks for; what the answer is. */
static inline enum hearsay_response_kind about(struct handler_fixture *fixture,
                                               enum hearsay_request_kind kind, uint8_t number)
{
    return handler_fixture_do(fixture, handler_fixture_about(kind, number));
}
