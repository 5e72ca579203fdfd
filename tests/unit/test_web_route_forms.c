/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes that forms are sent to: what is refused, what a message becomes, and that an error keeps
 * what was typed.
 */
#include "client/web/route/route.h"

#include <sodium.h>

#include "tests/lib/check.h"
#include "tests/unit/web_route_fixture.h"

/* --- forged, old and moved forms -------------------------------------------------------------- */

TEST_WITH(forged_forms_are_refused, web_route_setup, NULL)
{
    static const char *const origins[] = {"null",
                                          "http://evil.example",
                                          "https://hearsay.lan",
                                          "http://hearsay.lan:81",
                                          "http://hearsay.lan.evil",
                                          ""};
    static const char fields[] = "text=Hello&id=" SEED;
    char body[WEB_ROUTE_BODY_BYTES];
    struct http_request request = web_route_form_of("/leave", fields, body);

    for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
        request.origin = origins[i];
        assert_int_equal(web_route_send(&request), 403);
        assert_int_equal(web_route.shown.notice, PAGE_EXPIRED);
        assert_string_equal(web_route.shown.text, "Hello");
    }
    request = web_route_form_of("/leave", fields, body);
    request.content_type = "text/plain";
    assert_int_equal(web_route_send(&request), 400);
    request.content_type = NULL;
    assert_int_equal(web_route_send(&request), 400);
    request = web_route_form_of("/leave", fields, body);
    request.client.bytes[3]++;
    assert_int_equal(web_route_send(&request), 403);
    assert_string_equal(web_route.shown.text, "Hello");
    assert_string_equal(web_route.shown.seed, SEED);
    request = web_route_form_of("/leave", fields, body);
    nonce_init(&web_route.router.nonce); /* another start */
    assert_int_equal(web_route_send(&request), 403);
    assert_int_equal(web_route.board.leaves, 0);
    request = web_route_form_of("/leave", fields, body);
    request.origin = NULL;
    request.content_type = "application/x-www-form-urlencoded; charset=UTF-8";
    assert_int_equal(web_route_send(&request), 200);
    assert_int_equal(web_route.board.leaves, 1);
}

/* A form that was too old can be sent again as it is shown. */
TEST_WITH(an_old_form_is_sent_again, web_route_setup, NULL)
{
    char body[WEB_ROUTE_BODY_BYTES];
    struct http_request request = web_route_form_of("/leave", "text=Hello&id=" SEED "&l=de", body);

    nonce_init(&web_route.router.nonce);
    assert_int_equal(web_route_send(&request), 403);
    assert_string_equal(web_route.shown.lang, "de");
    request.body_bytes =
        (size_t)snprintf(body, sizeof(body), "text=%s&id=%s&f=%s", web_route.shown.text,
                         web_route.shown.seed, web_route.shown.token);
    assert_int_equal(web_route_send(&request), 200);
    assert_string_equal(web_route.board.text, "Hello");
}

/* A phone that has come to another access point sends the form of the one before. */
TEST_WITH(a_phone_has_moved, web_route_setup, NULL)
{
    char body[WEB_ROUTE_BODY_BYTES];
    struct http_request request = web_route_form_of(
        "/leave", "text=Hello&t=jazz&ttl=3600&h=garden&place=" OTHER "&id=" SEED "&l=de", body);

    nonce_init(&web_route.router.nonce);
    assert_int_equal(web_route_send(&request), 409);
    assert_int_equal(web_route.shown.notice, PAGE_MOVED);
    assert_string_equal(web_route.shown.lang, "de");
    assert_string_equal(web_route.shown.text, "Hello");
    assert_string_not_equal(web_route.shown.seed, SEED);
    assert_int_equal(web_route_post("/leave", "text=Hello&place=" OTHER "&id=" SEED),
                     409); /* new store */
    assert_int_equal(web_route.board.leaves, 0);
    assert_int_equal(web_route_post("/report", "id=" SEED "&why=spam&text=Stop&place=" OTHER), 409);
    assert_int_equal(web_route.shown.notice, PAGE_MOVED);
    assert_false(web_route.shown.has_form);
    assert_string_equal(web_route.shown.kept, "Stop");
    assert_int_equal(web_route_post("/withdraw", "id=" SEED "&code=ABC&place=" OTHER), 409);
    assert_string_equal(web_route.shown.kept, "ABC");
}

/* One store may serve many places: another address, or the same one with other labels. */
TEST_WITH(a_phone_has_moved_within_a_store, web_route_setup, NULL)
{
    static const char form[] = "text=Hello&place=" PLACE "&id=" SEED "&here=";
    char fields[200];
    char body[WEB_ROUTE_BODY_BYTES];

    snprintf(fields, sizeof(fields), "%s" HERE, form);
    assert_int_equal(web_route_post("/leave", fields), 200);
    struct http_request stale = web_route_form_of("/leave", fields, body);
    stale.client.bytes[3]++;
    assert_int_equal(web_route_send(&stale), 403);
    assert_int_equal(web_route.shown.notice, PAGE_EXPIRED);
    snprintf(fields, sizeof(fields), "%s" OTHER, form);
    assert_int_equal(web_route_post("/leave", fields), 409);
    assert_int_equal(web_route.shown.notice, PAGE_MOVED);
    assert_string_equal(web_route.shown.text, "Hello");
    assert_string_not_equal(web_route.shown.seed, SEED);
    stale = web_route_form_of("/leave", fields, body);
    stale.client.bytes[3]++;
    assert_int_equal(web_route_send(&stale), 409);
    assert_int_equal(web_route.board.leaves, 1);
    stale = web_route_form_of("/withdraw",
                              "id=" SEED "&code=AAAAAAAAAAAAAAAAAAAAAAAAAA&here=" OTHER, body);
    stale.client.bytes[3]++;
    assert_int_equal(web_route_send(&stale), 403);
    assert_int_equal(web_route.shown.notice, PAGE_EXPIRED);
}

/* Forms of this place are none of another: also of a second host, and of before hearsayd came. */
TEST_WITH(a_phone_has_not_moved, web_route_setup, NULL)
{
    char body[WEB_ROUTE_BODY_BYTES];
    struct http_request request =
        web_route_form_of("/report", "id=" SEED "&why=spam&text=Stop&place=" PLACE, body);
    struct hearsay_host hosts[] = {web_route.board.host, web_route.board.host};

    assert_int_equal(web_route_post("/leave", "text=Hello&place=" PLACE "&id=" SEED), 200);
    assert_int_equal(web_route_post("/leave", "text=Hello&place=&id=" SEED), 200);
    hosts[1].name = "garden";
    web_route.board.welcome.hosts = hosts;
    web_route.board.welcome.host_count = 2;
    assert_int_equal(web_route_post("/leave", "text=Hello&h=garden&place=" GARDEN "&id=" SEED),
                     200);
    assert_int_equal(web_route_post("/leave", "text=Hello&h=garden&place=" PLACE "&id=" SEED), 409);
    nonce_init(&web_route.router.nonce);
    assert_int_equal(web_route_send(&request), 403);
    assert_int_equal(web_route.shown.notice, PAGE_EXPIRED);
    assert_string_equal(web_route.shown.kept, "Stop");
    web_route.board.is_away = true;
    web_route.board.outcome = BOARD_AWAY;
    assert_int_equal(web_route_post("/leave", "text=Hello&place=" OTHER "&id=" SEED), 503);
}

/* --- writing ---------------------------------------------------------------------------------- */

TEST_WITH(a_message_is_left, web_route_setup, NULL)
{
    uint8_t code[SECRET_CODE_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    char id[SECRET_HEX_BYTES];

    assert_int_equal(
        web_route_post("/leave", "text=a%0D%0Ab%0Dc+%0A&t=Jazz,+Blues&now=1&ttl=3600&id=" SEED),
        200);
    assert_string_equal(web_route.exchange.body, "left");
    assert_string_equal(web_route.board.text, "a\nb\nc");
    assert_int_equal(web_route.board.ttl_s, 3600);
    assert_int_equal(web_route.board.view.topic_count, 2);
    assert_true(web_route.board.view.is_now);
    assert_string_equal(web_route.board.view.place, "place:bar\n");
    secret_write_hex(web_route.board.id, id);
    assert_string_equal(web_route.shown.id, id);
    assert_string_not_equal(web_route.shown.id, SEED); /* the id is public, the seed is not */
    assert_true(secret_read_code(web_route.shown.code, code));
    secret_token(code, token);
    assert_memory_equal(token, web_route.board.token, sizeof(token));
}

/* An answer names its message; it is another message than the same text without, or elsewhere. */
TEST_WITH(a_message_is_answered, web_route_setup, NULL)
{
    static const char re[] = "000102030405060708090a0b0c0d0e0f";
    uint8_t id[HEARSAY_ID_BYTES];
    char fields[200];

    assert_int_equal(web_route_post("/leave", "text=Hello&id=" SEED), 200);
    assert_false(web_route.board.is_answer);
    memcpy(id, web_route.board.id, sizeof(id));
    (void)snprintf(fields, sizeof(fields), "text=Hello&id=" SEED "&e=77&re=%s", re);
    assert_int_equal(web_route_post("/leave", fields), 200);
    assert_true(web_route.board.is_answer);
    assert_int_equal(web_route.board.parent[15], 15);
    assert_int_equal(web_route.board.epoch, 77);
    assert_memory_not_equal(id, web_route.board.id, sizeof(id));
}

/* Where the message has gone there is nothing to answer: the text comes back to be copied, without
 * a form. On a full board the answer may be sent again. */
TEST_WITH(an_answer_to_nothing_has_no_form, web_route_setup, NULL)
{
    static const char answer[] = "text=Hello&id=" SEED "&re=000102030405060708090a0b0c0d0e0f";
    static const struct {
        enum board_outcome outcome;
        unsigned status;
    } rows[] = {{BOARD_GONE, 404}, {BOARD_REMOVED, 410}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        web_route.board.outcome = rows[i].outcome;
        assert_int_equal(web_route_post("/leave", answer), rows[i].status);
        assert_string_equal(web_route.shown.kept, "Hello");
        assert_false(web_route.shown.has_form);
    }
    web_route.board.outcome = BOARD_FULL;
    assert_int_equal(web_route_post("/leave", answer), 507);
    assert_int_equal(web_route.shown.notice, PAGE_FULL);
    assert_true(web_route.shown.has_form);
    (void)strcpy(web_route.board.error.field, "answers"); /* it is the message that is full */
    assert_int_equal(web_route_post("/leave", answer), 507);
    assert_int_equal(web_route.shown.notice, PAGE_ANSWERS);
    assert_true(web_route.shown.has_form);
}

/* A double tap and a reload are the same message with the same code; other content is not. */
TEST_WITH(the_same_form_is_one_message, web_route_setup, NULL)
{
    uint8_t id[HEARSAY_ID_BYTES];
    char code[SECRET_CODE_TEXT_BYTES];

    assert_int_equal(web_route_post("/leave", "text=Hello&id=" SEED), 200);
    memcpy(id, web_route.board.id, sizeof(id));
    memcpy(code, web_route.shown.code, sizeof(code));
    assert_int_equal(web_route_post("/leave", "text=Hello&id=" SEED), 200);
    assert_memory_equal(id, web_route.board.id, sizeof(id));
    assert_string_equal(code, web_route.shown.code);
    assert_int_equal(web_route_post("/leave", "text=Hello!&id=" SEED), 200);
    assert_memory_not_equal(id, web_route.board.id, sizeof(id));
    assert_int_equal(web_route_post("/leave", "text=Hello&t=jazz&id=" SEED), 200);
    assert_memory_not_equal(id, web_route.board.id, sizeof(id));
    assert_int_equal(web_route_post("/leave", "text=Hello&ttl=60&id=" SEED), 200);
    assert_memory_not_equal(id, web_route.board.id, sizeof(id));
}

/* Who reloads the answer after the message was withdrawn does not bring it back unasked. */
TEST_WITH(a_withdrawn_message_asks_again, web_route_setup, NULL)
{
    web_route.board.outcome = BOARD_REFUSED;
    web_route.board.error.code = HEARSAY_CODE_ALREADY_EXISTS;
    assert_int_equal(web_route_post("/leave", "text=Hello&id=" SEED), 403);
    assert_int_equal(web_route.shown.notice, PAGE_EXPIRED);
    assert_string_equal(web_route.shown.text, "Hello");
    assert_string_not_equal(web_route.shown.seed, SEED);
    assert_int_equal(strlen(web_route.shown.seed), 32);
    assert_int_equal(web_route.board.leaves, 1);
}

/* 500 characters, of any script. */
TEST_WITH(texts_are_bounded, web_route_setup, NULL)
{
    char fields[4096];
    size_t used;

    for (int characters = 500; characters <= 501; characters++) {
        char body[8192];

        used = (size_t)snprintf(fields, sizeof(fields), "id=" SEED "&text=");
        for (int i = 0; i < characters; i++) {
            used += (size_t)snprintf(fields + used, sizeof(fields) - used, "\xF0\x9F\x8E\xB7");
        }
        struct http_request request = web_route_form_of("/leave", fields, body);
        assert_int_equal(web_route_send(&request), characters == 500 ? 200 : 413);
    }
    assert_int_equal(web_route.shown.notice, PAGE_TOO_LONG);
    assert_int_equal(web_route.shown.excess, 1);
    assert_false(web_route.shown.is_excess_of_bytes);
    assert_int_equal(web_route.shown.bytes_max, 0);
    assert_int_equal(strlen(web_route.shown.text), 4 * 501);
    web_route.board.welcome.limits.payload_bytes = 5;
    assert_int_equal(web_route_post("/leave", "text=Hello&id=" SEED), 200);
    assert_int_equal(web_route_post("/leave", "text=Hello!!&id=" SEED), 413);
    assert_int_equal(web_route.shown.excess, 2);
    assert_true(web_route.shown.is_excess_of_bytes);
    assert_int_equal(web_route.shown.bytes_max, 5);
}

TEST_WITH(wrong_fields_are_named, web_route_setup, NULL)
{
    static const struct {
        const char *path;
        const char *fields;
        const char *field;
    } rows[] = {
        {"/leave", "id=" SEED, "text"},
        {"/leave", "text=+%0A&id=" SEED, "text"},
        {"/leave", "text=%FF&id=" SEED, "text"},
        {"/leave", "text=%E2%80%8B&id=" SEED, "text"}, /* nothing to see: U+200B, U+3164, a mark */
        {"/leave", "text=+%E3%85%A4%0A.&t=x&id=12", "id"},
        {"/leave", "text=%E3%85%A4&id=" SEED, "text"},
        {"/leave", "text=%CC%81&id=" SEED, "text"},
        {"/leave", "text=a", "id"},
        {"/leave", "text=a&id=12", "id"},
        {"/leave", "text=a&ttl=1h&id=" SEED, "ttl"},
        {"/leave", "text=a&ttl=604801&id=" SEED, "ttl"},
        {"/leave", "text=a&ttl=9999999999&id=" SEED, "ttl"},
        {"/leave", "text=a&t=a,b,c,d,e&id=" SEED, "t"},
        {"/leave", "text=a&h=elsewhere&id=" SEED, "h"},
        {"/leave", "text=%&id=" SEED, "form"},
        {"/leave", "text=a&re=12&id=" SEED, "re"},
        {"/leave", "text=a&e=x&re=000102030405060708090a0b0c0d0e0f&id=" SEED, "re"},
        {"/leave", "text=a&re=" SEED "&id=00112233445566778899AABBCCDDEEFF", "id"}, /* public */
        {"/withdraw", "code=AAAAAAAAAAAAAAAAAAAAAAAAAA", "id"},
        {"/report", "why=spam", "id"},
        {"/report", "id=" SEED "&why=bored", "why"},
        {"/report", "id=" SEED, "why"},
        {"/report", "id=" SEED "&why=spam&text=%C0", "text"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sheets_clear(&web_route.router.sheets, true); /* so that each page is written, and shown */
        assert_int_equal(web_route_post(rows[i].path, rows[i].fields), 400);
        assert_string_equal(web_route.shown.field, rows[i].field);
    }
    assert_int_equal(web_route.board.leaves, 0);
}

TEST_WITH(codes_are_read_as_people_type, web_route_setup, NULL)
{
    static const uint8_t code[SECRET_CODE_BYTES] = {0xFF, 1, 2,  3,  4,  5,  6,  7,
                                                    8,    9, 10, 11, 12, 13, 14, 0xFE};
    uint8_t token[HEARSAY_TOKEN_BYTES];
    char text[SECRET_CODE_TEXT_BYTES];
    char fields[200];

    secret_write_code(code, text);
    secret_token(code, token);
    for (char *c = text; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' ? *c + 32 : *c);
    }
    snprintf(fields, sizeof(fields), "id=" SEED "&code=+%.13s-%s+", text, text + 13);
    web_route.board.keeps_list = true;
    assert_int_equal(web_route_get("/"), 200);
    assert_int_equal(web_route_count_sheets(), 1);
    assert_int_equal(web_route_post("/withdraw", fields), 200);
    assert_string_equal(web_route.exchange.body, "withdrawn");
    assert_int_equal(web_route_count_sheets(), 0); /* the message may be in it */
    assert_memory_equal(web_route.board.token, token, sizeof(token));
    assert_int_equal(web_route_post("/withdraw", "id=" SEED "&code=AAAA"), 403);
    assert_int_equal(web_route.shown.notice, PAGE_WRONG_CODE);
    assert_string_equal(web_route.exchange.body, "message");
    assert_string_equal(web_route.shown.code, "AAAA"); /* to be mended, not typed again */
    assert_int_equal(web_route_post("/withdraw", "id=" SEED "&code=AAAAAAAAAAAAAAAAAAAAAAAAAAA"),
                     403);
}

TEST_WITH(a_draft_comes_back_in_another_language, web_route_setup, NULL)
{
    assert_int_equal(web_route_post("/leave", "text=Hello&t=a&l=de&to=ar&id=" SEED), 200);
    assert_string_equal(web_route.exchange.body, "draft");
    assert_string_equal(web_route.shown.lang, "ar");
    assert_string_equal(web_route.shown.text, "Hello");
    assert_string_equal(web_route.shown.seed, SEED);
    assert_int_equal(web_route_post("/leave", "to=xx&id=" SEED), 200); /* an empty one, too */
    assert_string_equal(web_route.shown.lang, "en");
    assert_int_equal(web_route.board.leaves, 0);
}

TEST_WITH(reports_have_one_line, web_route_setup, NULL)
{
    char fields[1200];
    size_t used;

    assert_int_equal(web_route_post("/report", "id=" SEED "&why=rude"), 400);
    assert_int_equal(web_route_post("/report", "id=" SEED "&why=spam"), 200);
    assert_string_equal(web_route.exchange.body, "reported");
    assert_int_equal(web_route.board.kind, HEARSAY_REPORT_SPAM);
    assert_string_equal(web_route.board.reason, "");
    assert_int_equal(web_route_post("/report", "id=" SEED "&why=about-me&text=a%0Ab"), 200);
    assert_int_equal(web_route.board.kind, HEARSAY_REPORT_ABOUT_ME);
    assert_string_equal(web_route.board.reason, "a b");
    used = (size_t)snprintf(fields, sizeof(fields), "id=" SEED "&why=harassment&text=");
    for (int i = 0; i < 150; i++) {
        used += (size_t)snprintf(fields + used, sizeof(fields) - used, "\xF0\x9F\x8E\xB7");
    }
    assert_int_equal(web_route_post("/report", fields), 200);
    assert_int_equal(strlen(web_route.board.reason), 4 * 150);
    snprintf(fields + used, sizeof(fields) - used, "x");
    assert_int_equal(web_route_post("/report", fields), 400);
}

int main(void)
{
    if (sodium_init() < 0 || uv_loop_init(&web_route.loop) != 0) {
        return 1;
    }
    int failed = check_run(NULL, NULL);
    return uv_loop_close(&web_route.loop) != 0 ? 1 : failed;
}
