/* SPDX-License-Identifier: Apache-2.0 */
/* Who is logged in at the moderators' page, and for how long. */
#include "client/web/moderate/login.h"
#include "tests/lib/check.h"

enum { WHOLE_MS = 12 * 60 * 60 * 1000 };

static const struct http_address phone = {.family = 4, .bytes = {10, 0, 7, 2}, .device = 5};

static bool is_in(struct login *login, const char *token, int64_t now_ms)
{
    return login_use(login, token, &phone, now_ms) != NULL;
}

/* A login is of the address and, where that is known, of the device that it began on. */
TEST(test_other_devices)
{
    struct login login = {.whole_ms = WHOLE_MS};
    struct http_address other = phone;
    char token[LOGIN_TEXT_BYTES];

    login_draw(token);
    login_begin(&login, token, &phone, 0);
    other.device = 6; /* has taken the address */
    assert_null(login_use(&login, token, &other, 1));
    other.device = 0;
    assert_null(login_use(&login, token, &other, 1));
    other = phone;
    other.bytes[3] = 3;
    assert_null(login_use(&login, token, &other, 1));
    assert_true(is_in(&login, token, 1));
    other = phone;
    other.device = 0; /* as behind a VPN */
    login_begin(&login, token, &other, 2);
    login_end_all(&login);
    assert_null(login_use(&login, token, &other, 3));
    login_begin(&login, token, &other, 3);
    assert_non_null(login_use(&login, token, &phone, 3));
}

TEST(test_ends)
{
    struct login login = {.whole_ms = WHOLE_MS};
    char token[LOGIN_TEXT_BYTES];
    char other[LOGIN_TEXT_BYTES];
    int64_t now_ms = 5;

    login_draw(token);
    login_draw(other);
    assert_string_not_equal(token, other);
    assert_int_equal(strspn(token, "0123456789abcdef"), LOGIN_TEXT_BYTES - 1);
    assert_false(is_in(&login, token, now_ms));
    login_begin(&login, token, &phone, now_ms);
    assert_true(is_in(&login, token, now_ms));
    assert_false(is_in(&login, other, now_ms));
    assert_false(is_in(&login, "", now_ms)); /* what free entries have */
    token[0] ^= 1;
    assert_false(is_in(&login, token, now_ms));
    token[0] ^= 1;

    /* Used in time the login lasts, but not for ever. */
    for (; now_ms - 5 < WHOLE_MS; now_ms += LOGIN_IDLE_MS - 1) {
        assert_true(is_in(&login, token, now_ms));
    }
    assert_false(is_in(&login, token, now_ms));
    login_begin(&login, token, &phone, now_ms);
    assert_false(is_in(&login, token, now_ms + LOGIN_IDLE_MS)); /* which is asked for only */
    login_end(login_use(&login, token, &phone, now_ms));
    assert_false(is_in(&login, token, now_ms));
}

/* A new login takes the place of the one that was not used longest. */
TEST(test_bound)
{
    struct login login = {.whole_ms = WHOLE_MS};
    char tokens[LOGIN_MAX + 1][LOGIN_TEXT_BYTES];

    for (int i = 0; i < LOGIN_MAX; i++) {
        login_draw(tokens[i]);
        login_begin(&login, tokens[i], &phone, i);
    }
    assert_true(is_in(&login, tokens[0], LOGIN_MAX));
    login_draw(tokens[LOGIN_MAX]);
    login_begin(&login, tokens[LOGIN_MAX], &phone, LOGIN_MAX + 1);
    for (int i = 0; i <= LOGIN_MAX; i++) {
        assert_int_equal(is_in(&login, tokens[i], LOGIN_MAX + 2), i != 1);
    }
}

/*
 * Five a minute of all together, three of them of one address. An address without a wrong one has a
 * try all the same: two others kept the moderator out otherwise.
 */
TEST(test_wrong_passwords)
{
    struct login login = {.whole_ms = WHOLE_MS};
    struct http_address clients[LOGIN_WRONG_MAX];
    const struct http_address other = {.family = 4, .bytes = {9}};

    for (int i = 0; i < LOGIN_WRONG_MAX; i++) {
        clients[i] = (struct http_address){.family = 4, .bytes = {10, 0, 0, (uint8_t)(i / 2)}};
        assert_int_equal(login_wait_ms(&login, &clients[i], 1000 * i), 0);
        login_count_wrong(&login, &clients[i], 1000 * i);
    }
    assert_int_equal(login_wait_ms(&login, &other, 5000), 0);
    /* These two have one and two; the first of the five was at 0. */
    assert_int_equal(login_wait_ms(&login, &clients[4], 5000), LOGIN_WRONG_MS - 5000);
    assert_int_equal(login_wait_ms(&login, &clients[0], 5000), LOGIN_WRONG_MS - 5000);
    login_count_wrong(&login, &other, 5000);
    assert_int_equal(login_wait_ms(&login, &other, 5000), 1000 + LOGIN_WRONG_MS - 5000);
    /* clients[0] has none any more when its second one, at 1000, is a minute old. */
    assert_int_equal(login_wait_ms(&login, &clients[0], LOGIN_WRONG_MS + 500), 500);
    assert_int_equal(login_wait_ms(&login, &clients[0], LOGIN_WRONG_MS + 1000), 0);
    assert_int_equal(login_wait_ms(&login, &other, LOGIN_WRONG_MS + 1000), 0);
}

/* However many addresses guess, each is remembered for a minute, and a new one has a try. */
TEST(test_many_addresses)
{
    struct login login = {.whole_ms = WHOLE_MS};
    struct http_address client = {.family = 4, .bytes = {10}};

    for (int i = 0; i < LOGIN_WRONG_KEPT; i++) {
        client.bytes[3] = (uint8_t)i;
        assert_int_equal(login_wait_ms(&login, &client, 100 * i), 0);
        login_count_wrong(&login, &client, 100 * i);
        assert_true((login_wait_ms(&login, &client, 100 * i) > 0) == (i >= LOGIN_WRONG_MAX - 1));
    }
    client.bytes[3] = 0;
    assert_int_equal(login_wait_ms(&login, &client, 100 * LOGIN_WRONG_KEPT),
                     LOGIN_WRONG_MS - 100 * LOGIN_WRONG_KEPT);
}

/* The address goes when the wrong password does not count any more, and not before. */
TEST(test_tidy)
{
    struct login login = {.whole_ms = WHOLE_MS};
    const struct http_address client = {.family = 4, .bytes = {10, 0, 0, 7}};
    const struct http_address nobody = {.family = 0};

    for (int i = 0; i < LOGIN_WRONG_OWN_MAX; i++) {
        login_count_wrong(&login, &client, 1000);
    }
    login_tidy(&login, LOGIN_WRONG_MS + 999);
    assert_int_equal(login_wait_ms(&login, &client, LOGIN_WRONG_MS + 999), 1);
    login_tidy(&login, LOGIN_WRONG_MS + 1000);
    assert_int_equal(login_wait_ms(&login, &client, LOGIN_WRONG_MS + 1000), 0);
    for (int i = 0; i < LOGIN_WRONG_OWN_MAX; i++) {
        assert_memory_equal(&login.wrong[i].client, &nobody, sizeof(nobody));
    }
}

/* Of a login that has ended nothing stays: neither who it was nor what was typed. */
TEST(test_tidy_logins)
{
    static const struct login_entry nothing;
    struct login login = {.whole_ms = WHOLE_MS};
    char token[LOGIN_TEXT_BYTES];

    login_draw(token);
    login_begin(&login, token, &phone, 1000);
    (void)strcpy(login.entries[0].said.typed, "closed tomorrow");
    login_tidy(&login, LOGIN_IDLE_MS + 999);
    assert_true(is_in(&login, token, LOGIN_IDLE_MS + 999));
    login_tidy(&login, 2 * LOGIN_IDLE_MS + 999);
    assert_memory_equal(&login.entries[0], &nothing, sizeof(nothing));
}

/* Whoever has used three cannot lock the others out. */
TEST(test_one_owner)
{
    struct login login = {.whole_ms = WHOLE_MS};
    const struct http_address own = {.family = 6, .bytes = {0xfd, [7] = 1, [15] = 1}};
    const struct http_address same = {.family = 6, .bytes = {0xfd, [7] = 1, [15] = 2}};
    const struct http_address other = {.family = 6, .bytes = {0xfd, [7] = 2, [15] = 1}};

    for (int i = 0; i < LOGIN_WRONG_OWN_MAX; i++) {
        assert_int_equal(login_wait_ms(&login, &same, 1000 * i), 0);
        login_count_wrong(&login, &own, 1000 * i);
    }
    login_count_wrong(&login, &other, 3000);
    assert_int_equal(login_wait_ms(&login, &same, 4000), LOGIN_WRONG_MS - 4000);
    assert_int_equal(login_wait_ms(&login, &other, 4000), 0);
    assert_int_equal(login_wait_ms(&login, &same, LOGIN_WRONG_MS), 0);
}

/* A ticket is right once, for ten minutes, and nobody else can write one. */
TEST(test_tickets)
{
    struct login login = {.whole_ms = WHOLE_MS};
    struct login other = {.wrong_count = 0};
    char tickets[LOGIN_TICKETS_MAX + 1][LOGIN_TEXT_BYTES];

    login_init(&login, WHOLE_MS);
    login_init(&other, WHOLE_MS);
    for (int i = 0; i <= LOGIN_TICKETS_MAX; i++) {
        login_ticket_draw(&login, 5, tickets[i]);
        assert_true(login_ticket_is_right(&login, tickets[i], 4 + LOGIN_TICKET_MS));
        assert_false(login_ticket_is_right(&login, tickets[i], 5 + LOGIN_TICKET_MS));
        assert_false(login_ticket_is_right(&other, tickets[i], 5));
    }
    for (int i = 0; i < LOGIN_TEXT_BYTES - 1; i++) {
        char wrong[LOGIN_TEXT_BYTES];

        memcpy(wrong, tickets[0], sizeof(wrong));
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        assert_false(login_ticket_is_right(&login, wrong, 5));
        wrong[i] = 'x';
        assert_false(login_ticket_is_right(&login, wrong, 5));
        wrong[i] = '\0';
        assert_false(login_ticket_is_right(&login, wrong, 5));
    }
    for (int i = 0; i < LOGIN_TICKETS_MAX; i++) {
        login_ticket_use(&login, tickets[i]);
    }
    for (int i = 0; i <= LOGIN_TICKETS_MAX; i++) {
        assert_int_equal(login_ticket_is_right(&login, tickets[i], 5), i == LOGIN_TICKETS_MAX);
        assert_int_equal(login_ticket_is_used(&login, tickets[i]), i < LOGIN_TICKETS_MAX);
    }
}
