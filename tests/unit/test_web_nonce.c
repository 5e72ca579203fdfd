/* SPDX-License-Identifier: Apache-2.0 */
/* Form tokens hold for one address and for two to three hours. */
#include "client/web/route/nonce.h"

#include <sodium.h>

#include "tests/lib/check.h"

static const int64_t hour_ms = 3600 * 1000;

static const struct http_address v4 = {.family = 4, .bytes = {10, 0, 0, 7}};
static const struct http_address v4_other = {.family = 4, .bytes = {10, 0, 0, 8}};

TEST(a_token_holds_for_two_to_three_hours)
{
    struct nonce nonce;
    char text[NONCE_TEXT_BYTES];

    nonce_init(&nonce);
    nonce_write(&nonce, &v4, 5 * hour_ms, text);
    assert_int_equal(strlen(text), 32);
    assert_true(nonce_check(&nonce, &v4, text, 5 * hour_ms));
    assert_true(nonce_check(&nonce, &v4, text, 8 * hour_ms - 1));
    assert_false(nonce_check(&nonce, &v4, text, 8 * hour_ms));
    assert_false(nonce_check(&nonce, &v4, text, 5 * hour_ms - 1));
    nonce_write(&nonce, &v4, 6 * hour_ms - 1, text);
    assert_true(nonce_check(&nonce, &v4, text, 8 * hour_ms - 1));
    assert_false(nonce_check(&nonce, &v4, text, 8 * hour_ms));
    nonce_write(&nonce, &v4, 0, text); /* the machine has just started */
    assert_true(nonce_check(&nonce, &v4, text, 0));
}

TEST(a_token_is_of_one_address_and_one_start)
{
    struct http_address v6 = {.family = 6, .bytes = {10, 0, 0, 7}};
    struct nonce nonce;
    struct nonce later;
    char text[NONCE_TEXT_BYTES];

    nonce_init(&nonce);
    nonce_init(&later);
    nonce_write(&nonce, &v4, 0, text);
    assert_false(nonce_check(&nonce, &v4_other, text, 0));
    assert_false(nonce_check(&nonce, &v6, text, 0));
    assert_false(nonce_check(&later, &v4, text, 0));
    assert_false(nonce_check(&nonce, &v4, "", 0));
    text[31] = text[31] == '0' ? '1' : '0';
    assert_false(nonce_check(&nonce, &v4, text, 0));
}

int main(void)
{
    return sodium_init() < 0 ? 1 : check_run(NULL, NULL);
}
