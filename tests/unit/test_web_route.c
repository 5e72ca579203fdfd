/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes that are read: which request is answered by what, which names are refused, and what is
 * left of a request whose phone goes away.
 */
#include "client/web/route/route.h"

#include <sodium.h>

#include "tests/lib/check.h"
#include "tests/unit/web_route_fixture.h"

/* --- reading ---------------------------------------------------------------------------------- */

TEST_WITH(paths_lead_to_pages, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/");

    assert_int_equal(web_route_get("/"), 200);
    assert_string_equal(web_route.exchange.body, "list");
    assert_string_equal(web_route.board.view.place, "place:bar\n");
    request.query = "t=Jazz&o=near";
    assert_int_equal(web_route_send(&request), 200);
    assert_string_equal(web_route.board.view.topics[0], "jazz");
    assert_int_equal(web_route_get("/m/" SEED), 200);
    assert_string_equal(web_route.exchange.body, "message");
    assert_int_equal(web_route.board.id[1], 0x11);
    assert_int_equal(web_route_get("/about"), 200);
    assert_int_equal(web_route_get("/poster"), 200);
    assert_string_equal(web_route.exchange.body, "http://10.0.0.1/?p=000000 alone");
    assert_int_equal(web_route_get("/events"), 200);
    assert_string_equal(web_route.exchange.body, "events");
    assert_int_equal(web_route_get("/robots.txt"), 200);
    assert_int_equal(web_route_get("/qr/page.svg"), 200);
    assert_int_equal(web_route_get("/qr/page.txt"), 200);
    assert_int_equal(web_route_get("/qr/join.svg"), 404); /* no WiFi is configured */
    assert_int_equal(web_route_get("/m/xyz"), 404);
    assert_int_equal(web_route.shown.notice, PAGE_ADDRESS);
    assert_int_equal(web_route_get("/stay"), 404); /* portal = off */
    assert_int_equal(web_route_get("/nothing"), 404);
    assert_int_equal(web_route.shown.notice, PAGE_ADDRESS);
    assert_int_equal(web_route_get("/leave"), 303);
    assert_string_equal(web_route.exchange.location, "/?p=01234567");
    request = web_route_request_of("/about");
    request.method = HTTP_POST;
    assert_int_equal(web_route_send(&request), 405);
}

/* A browser names HTML; a program that takes all or text gets text; who says nothing gets the page.
 */
TEST_WITH(programs_get_text, web_route_setup, NULL)
{
    static const struct {
        const char *accept;
        const char *body;
        const char *language;
    } rows[] = {
        {NULL, "list", NULL},
        {"*/*", "text", NULL},
        {"*/*", "list", "en"}, /* a script of a browser */
        {"text/plain", "text", "en"},
        {"text/*;q=0.5", "text", NULL},
        {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "list", "en"},
        {"application/xhtml+xml, */*", "list", NULL},
        {"image/png", "list", NULL},
    };
    struct http_request request = web_route_request_of("/");

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        request.accept = rows[i].accept;
        request.accept_language = rows[i].language;
        assert_int_equal(web_route_send(&request), 200);
        assert_string_equal(web_route.exchange.body, rows[i].body);
        assert_string_equal(web_route.exchange.type, strcmp(rows[i].body, "text") == 0
                                                         ? "text/plain; charset=utf-8"
                                                         : "text/html; charset=utf-8");
        assert_string_equal(web_route.exchange.vary, "Accept, Accept-Language");
    }
    request = web_route_request_of("/list.json");
    request.query = "t=Jazz";
    assert_int_equal(web_route_send(&request), 200);
    assert_string_equal(web_route.exchange.body, "json");
    assert_string_equal(web_route.exchange.type, "application/json");
    assert_string_equal(web_route.exchange.vary, "");
    assert_string_equal(web_route.board.view.topics[0], "jazz");
    request = web_route_request_of("/feed");
    assert_int_equal(web_route_send(&request), 200);
    assert_string_equal(web_route.exchange.body, "hearsay.lan");
    assert_string_equal(web_route.exchange.type, "application/atom+xml; charset=utf-8");
}

/* Programs pay for a list as phones do, and are told in a sentence what is wrong. */
TEST_WITH(programs_are_refused_in_words, web_route_setup, NULL)
{
    static const char *const paths[] = {"/", "/list.json", "/feed"};
    struct http_request request;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        request = web_route_request_of(paths[i]);
        request.accept = "*/*";
        web_route.board.outcome = BOARD_LIMITED;
        web_route.board.error.retry_after_ms = 7500;
        assert_int_equal(web_route_send(&request), 429);
        assert_int_equal(web_route.exchange.retry_after_s, 8);
        assert_string_equal(web_route.exchange.body,
                            "That was a lot in a short time. Try again in 8 s.\n");
        assert_string_equal(web_route.exchange.type, "text/plain; charset=utf-8");
        web_route.board.outcome = BOARD_AWAY;
        assert_int_equal(web_route_send(&request), 503);
        assert_string_equal(web_route.exchange.body,
                            "The message store does not answer right now. Try again in 5 s.\n");
        web_route.board.outcome = BOARD_DONE;
        request.query = "o=best";
        assert_int_equal(web_route_send(&request), 400);
        assert_string_equal(web_route.exchange.body, "The value of `o` is wrong.\n");
        request.query = "h=nowhere";
        assert_int_equal(web_route_send(&request), 404);
        assert_string_equal(web_route.exchange.body, "There is nothing here.\n");
    }
}

/* Before a stream begins, the phone asks for the list of its page, in its own name and with the
 * view of the page, but not around here; whoever hearsayd refuses the list gets no stream.
 * (Phones that opened ever new streams made watches that nobody paid for.) */
TEST_WITH(a_stream_is_paid_as_a_list, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/");
    struct view of_page;

    web_route.board.host.hood = "campus";
    request.query = "t=Jazz&a=1";
    assert_int_equal(web_route_send(&request), 200);
    of_page = web_route.board.view;
    assert_true(of_page.is_hood);
    of_page.is_hood = false;
    request.path = "/events";
    web_route.board.is_slow = true;
    assert_int_equal(web_route_send(&request), 0);
    assert_true(view_equal(&of_page, &web_route.board.view));
    web_route_reply(BOARD_DONE);
    assert_string_equal(web_route.exchange.body, "events");
    web_route.board.error.retry_after_ms = 7500;
    assert_int_equal(web_route_send(&request), 0);
    web_route_reply(BOARD_LIMITED);
    assert_int_equal(web_route.exchange.status, 429);
    assert_int_equal(web_route.exchange.retry_after_s, 8);
    assert_int_equal(web_route_send(&request), 0);
    route_gone(&web_route.router, &web_route.exchange); /* while the list is awaited */
    assert_int_equal(web_route.board.forgotten, 1);
}

/* Pages that follow from the configuration, and errors, are written once for all phones, whatever
 * messages these looked at; after a reload anew. (T16: a poster cost as much as ten lists.) */
TEST_WITH(fixed_pages_are_written_once, web_route_setup, NULL)
{
    static const char *const paths[] = {"/about", "/poster", "/nothing", "/m/xyz"};
    struct http_request request;
    int before = web_route.written;

    for (unsigned phone = 1; phone <= 20; phone++) {
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
            char query[32];

            snprintf(query, sizeof(query), "t=%u&o=near", phone);
            request = web_route_request_of(paths[i]);
            request.query = query;
            request.client.bytes[3] = (uint8_t)phone;
            assert_int_equal(web_route_send(&request), i < 2 ? 200 : 404);
        }
    }
    assert_int_equal(web_route.written - before, 3); /* "not there" is one page */
    request = web_route_request_of("/about");
    request.query = "l=de";
    assert_int_equal(web_route_send(&request), 200);
    assert_int_equal(web_route.written - before, 4);
    sheets_clear(&web_route.router.sheets, true);
    assert_int_equal(web_route_get("/about"), 200);
    assert_int_equal(web_route.written - before, 5);
}

/* A poster is for a place that the operator has named, and for no other: anybody can write a link.
 */
TEST_WITH(posters_are_of_places_with_a_name, web_route_setup, NULL)
{
    static const struct {
        const char *query;
        unsigned status;
    } rows[] = {
        {"place=Bar", 200},
        {"l=de&place=The%20hall", 200},
        {"place=", 200},
        {"place=Ba", 404},
        {"place=The", 404},
        {"place=Bar%0AThe+hall", 404},
        {"place=bar", 404},
        {"place=%0A", 404},
        {"place=0123456789012345678901234567890123456789012345678901234567890123", 404},
        {"place=01234567890123456789012345678901234567890123456789012345678901234", 404},
    };
    struct http_request request = web_route_request_of("/poster");
    int before = web_route.written;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        request.query = rows[i].query;
        assert_int_equal(web_route_send(&request), rows[i].status);
    }
    assert_int_equal(web_route.written - before, 4); /* each name is a page, and an error is one */
    web_route.board.place = BOARD_AWAY;
    request.query = "place=Bar";
    assert_int_equal(web_route_send(&request), 503);
    request.query = "";
    assert_int_equal(web_route_send(&request), 200);
}

/* The code of a language that was chosen opens the page in it, and so does that of each of two
 * languages. A language that is not there is none. */
TEST_WITH(posters_carry_their_language, web_route_setup, NULL)
{
    static const char *const rows[][2] = {
        {"", "?p=000000 alone"},
        {"l=en", "?p=000000&l=en alone"},
        {"l=de", "?p=000000&l=de en"},
        {"l=de&and=ar", "?p=000000&l=de ar"},
        {"l=de&and=de", "?p=000000&l=de alone"},
        {"and=fr", "?p=000000&l=en fr"},
        {"l=xx&and=yy", "?p=000000 alone"},
    };
    struct http_request request = web_route_request_of("/poster");

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char expected[64];

        snprintf(expected, sizeof(expected), "http://10.0.0.1/%s", rows[i][1]);
        request.query = rows[i][0];
        assert_int_equal(web_route_send(&request), 200);
        assert_string_equal(web_route.exchange.body, expected);
    }
}

TEST_WITH(files_are_of_this_start, web_route_setup, NULL)
{
    char path[64];

    snprintf(path, sizeof(path), "%sstyle.css", web_route.router.statics);
    assert_int_equal(web_route_get(path), 200);
    assert_int_equal(web_route.exchange.max_age_s, 86400);
    assert_int_equal(web_route_get("/s/0123456789abcdef/style.css"), 404);
    snprintf(path, sizeof(path), "%s../style.css", web_route.router.statics);
    assert_int_equal(web_route_get(path), 404);
}

TEST_WITH(wrong_urls_name_the_field, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/");

    request.query = "o=up";
    assert_int_equal(web_route_send(&request), 400);
    assert_string_equal(web_route.shown.field, "o");
    request.query = "h=elsewhere";
    assert_int_equal(web_route_send(&request), 404);
}

TEST_WITH(languages_are_chosen, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/");

    request.accept_language = "ar,en;q=0.5";
    assert_int_equal(web_route_send(&request), 200);
    assert_string_equal(web_route.shown.lang, "ar");
    snprintf(web_route.config.language, sizeof(web_route.config.language), "de");
    assert_int_equal(web_route_send(&request), 200);
    assert_string_equal(web_route.shown.lang, "de");
    request.query = "l=en";
    assert_int_equal(web_route_send(&request), 200);
    assert_string_equal(web_route.shown.lang, "en");
}

/* "Who can read what" says how long a message stays at most. Only hearsayd knows that: while it is
 * away, the page says no number rather than a wrong one. */
TEST_WITH(about_knows_the_longest_lifetime, web_route_setup, NULL)
{
    web_route.board.welcome.limits.ttl_max_s = 2 * 86400;
    assert_int_equal(web_route_get("/about"), 200);
    assert_int_equal(web_route.shown.ttl_max_s, 2 * 86400);
    web_route.board.is_away = true;
    assert_int_equal(web_route_get("/about"), 200);
    assert_int_equal(web_route.shown.ttl_max_s, 0);
}

TEST_WITH(outcomes_have_their_statuses, web_route_setup, NULL)
{
    static const struct {
        enum board_outcome outcome;
        unsigned status;
        enum page_notice notice;
    } rows[] = {
        {BOARD_AWAY, 503, PAGE_AWAY},       {BOARD_BUSY, 503, PAGE_LIMITED},
        {BOARD_LIMITED, 429, PAGE_LIMITED}, {BOARD_GONE, 404, PAGE_GONE},
        {BOARD_REMOVED, 410, PAGE_REMOVED}, {BOARD_WRONG_CODE, 403, PAGE_WRONG_CODE},
        {BOARD_CLOSED, 403, PAGE_CLOSED},   {BOARD_FULL, 507, PAGE_FULL},
        {BOARD_REFUSED, 400, PAGE_REFUSED},
    };

    web_route.board.error.retry_after_ms = 4200;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        web_route.board.outcome = rows[i].outcome;
        assert_int_equal(web_route_get("/"), rows[i].status);
        assert_int_equal(web_route.shown.notice, rows[i].notice);
        assert_int_equal(web_route_post("/leave", "text=Hello+you&id=" SEED), rows[i].status);
        assert_int_equal(web_route.shown.notice, rows[i].notice);
        assert_string_equal(web_route.shown.text, "Hello you"); /* nobody types it twice */
        assert_int_equal(web_route.exchange.retry_after_s > 0,
                         rows[i].status == 429 || rows[i].status == 503);
    }
}

/*
 * A message of another server has no page here: the page says where it is. That holds in a hood
 * only, and for hosts that hearsayd does not have.
 */
TEST_WITH(a_message_of_another_server, web_route_setup, NULL)
{
    static const struct {
        const char *query;
        const char *hood;
        enum page_notice notice;
    } rows[] = {
        {"at=library", "campus", PAGE_ELSEWHERE},
        {"at=private", "campus", PAGE_GONE},
        {"h=nowhere", "campus", PAGE_GONE},
        {"at=library", NULL, PAGE_GONE},
    };
    struct hearsay_host hosts[2] = {{.name = "default"}, {.name = "private"}};
    struct http_request request = web_route_request_of("/m/" SEED);

    web_route.board.welcome.hosts = hosts;
    web_route.board.welcome.host_count = 2;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hosts[0].hood = rows[i].hood;
        request.query = rows[i].query;
        assert_int_equal(web_route_send(&request), 404);
        assert_int_equal(web_route.shown.notice, rows[i].notice);
        if (rows[i].notice == PAGE_ELSEWHERE) {
            assert_string_equal(web_route.shown.host, "library");
        }
    }
}

/* Phones get one list with values of their own in it. Nothing of a phone reaches another one. */
TEST_WITH(phones_share_lists_only, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/");
    int before;

    web_route.board.keeps_list = true;
    assert_int_equal(web_route_send(&request), 200);
    before = web_route.written;
    for (uint8_t i = 8; i < 50; i++) {
        char seed[SECRET_HEX_BYTES];
        char key[NONCE_TEXT_BYTES];

        memcpy(seed, web_route.shown.seed, sizeof(seed));
        memcpy(key, web_route.shown.key, sizeof(key));
        request.client.bytes[3] = i;
        assert_int_equal(web_route_send(&request), 200);
        assert_true(nonce_check(&web_route.router.nonce, &request.client, web_route.shown.token,
                                router_now_ms(&web_route.router)));
        nonce_write_key(&web_route.router.nonce, &request.client, web_route.exchange.location);
        assert_string_equal(web_route.shown.key, web_route.exchange.location);
        assert_string_not_equal(web_route.shown.key, key);
        assert_string_not_equal(web_route.shown.seed, seed);
    }
    assert_int_equal(web_route.written, before);
    /* What was typed is shown to who typed it. */
    web_route.board.outcome = BOARD_FULL;
    assert_int_equal(web_route_post("/leave", "text=Hello&id=" SEED), 507);
    assert_string_equal(web_route.shown.text, "Hello");
    web_route.board.outcome = BOARD_DONE;
    before = web_route.written;
    assert_int_equal(web_route_send(&request), 200);
    assert_string_not_equal(web_route.shown.seed, SEED);
    assert_int_equal(web_route.written, before);
}

/* Whatever changes the page makes another one. */
TEST_WITH(a_list_is_shared_with_its_equals, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/");
    int before = web_route.written;

    web_route.board.keeps_list = true;
    assert_int_equal(web_route_send(&request), 200);
    request.accept_language = "de";
    assert_int_equal(web_route_send(&request), 200);
    request.query = "l=de";
    assert_int_equal(web_route_send(&request), 200);
    web_route.board.version++;
    assert_int_equal(web_route_send(&request), 200);
    web_route.board.welcome.clock_trusted = true;
    assert_int_equal(web_route_send(&request), 200);
    web_route.board.host.accept = HEARSAY_ACCEPT_CLOSED;
    assert_int_equal(web_route_send(&request), 200);
    web_route.board.host.notices_version = 7;
    assert_int_equal(web_route_send(&request), 200);
    web_route.board.welcome.limits.ttl_default_s++;
    assert_int_equal(web_route_send(&request), 200);
    web_route.board.welcome.limits.payload_bytes = 1024;
    assert_int_equal(web_route_send(&request), 200);
    web_route.config.portal = WEB_PORTAL_OFFLINE;
    assert_int_equal(web_route_send(&request), 200);
    assert_int_equal(web_route_post("/stay", "x=1"), 200);
    assert_int_equal(web_route_send(&request), 200); /* without the form: it was written before */
    web_route.loop.time += 1000;
    assert_int_equal(web_route_send(&request), 200);
    assert_int_equal(web_route_count_sheets(), 1); /* those of the second before are gone */
    sheets_clear(&web_route.router.sheets, false);
    assert_int_equal(web_route_send(&request), 200);
    assert_int_equal(web_route.written - before, 13); /* one of them for /stay */
    assert_int_equal(web_route_send(&request), 200);
    assert_int_equal(web_route.written - before, 13);
    web_route.loop.time -= 1000;
}

static void write_large(void *context, struct html *html)
{
    (void)context;
    while (html->count < HTML_BYTES_MAX / 3) {
        html_raw(html, "a long text ");
    }
}

/* However large pages are, as lists of the longest texts, those that are kept have a bound
 * together: one phone can ask for many of them within a second. */
TEST_WITH(kept_pages_have_a_bound, web_route_setup, NULL)
{
    struct sheets *sheets = &web_route.router.sheets;
    size_t bytes = 0;

    for (uint64_t number = 0; number < SHEETS_MAX; number++) {
        struct sheet_parts parts = {.numbers = &number, .number_count = 1, .second = 1};
        const struct html *taken = sheets_take(sheets, &parts, write_large, NULL);

        assert_non_null(taken);
        assert_ptr_equal(sheets_take(sheets, &parts, write_large, NULL), taken);
    }
    for (size_t i = 0; i < SHEETS_MAX; i++) {
        bytes += sheets->all[i].html.room;
    }
    assert_in_range(bytes, HTML_BYTES_MAX / 3, HTML_BYTES_MAX);
}

/* A list is given to others in the same second, so it has nothing of its address that is of other
 * pages: else one phone led the links of all others to another host, or another poster. */
TEST_WITH(a_list_has_nothing_of_other_pages, web_route_setup, NULL)
{
    struct hearsay_host hosts[2] = {{.name = "default", .hood = "campus"},
                                    {.name = "garden", .hood = "campus"}};
    struct http_request request = web_route_request_of("/");

    web_route.board.welcome.hosts = hosts;
    web_route.board.welcome.host_count = 2;
    request.query = "at=garden&and=ar";
    assert_int_equal(web_route_send(&request), 200);
    assert_true(web_route.board.view.is_hood);
    assert_string_equal(web_route.board.view.at, "");
    assert_string_equal(web_route.board.view.second, "");
}

/* Who knows no place sees no list: without labels it would be that of all places. */
TEST_WITH(a_place_that_is_not_known_shows_nothing, web_route_setup, NULL)
{
    web_route.board.place = BOARD_BUSY;
    assert_int_equal(web_route_get("/"), 503);
    assert_int_equal(web_route.shown.notice, PAGE_LIMITED);
    assert_true(web_route.exchange.retry_after_s > 0);
    assert_int_equal(web_route_get("/events"), 503);
    assert_true(web_route.exchange.retry_after_s > 0);
    assert_int_equal(web_route_post("/leave", "text=Hello+you&id=" SEED), 503);
    assert_int_equal(web_route.board.view.before_ms, 0); /* nobody was asked for a list */
    assert_int_equal(web_route.board.leaves, 0);
}

/* Whatever memory a list needs may be missing: then the phone is told so, and others get theirs. */
TEST_WITH(a_list_without_memory, web_route_setup, NULL)
{
    struct http_address client = web_route_request_of("/").client;
    unsigned failures = 0;

    web_route.board.keeps_list = true;
    for (unsigned n = 1; n < 100; n++) {
        sheets_clear(&web_route.router.sheets, false);
        web_route.fail_at = n;
        assert_true(web_route_get("/") == 200 || web_route.exchange.status == 503);
        if (web_route.fail_at > 0) {
            break; /* no allocation was the nth one */
        }
        failures += web_route.exchange.status == 503;
        assert_int_equal(web_route_get("/"), 200);
        assert_true(nonce_check(&web_route.router.nonce, &client, web_route.shown.token,
                                router_now_ms(&web_route.router)));
    }
    web_route.fail_at = 0;
    assert_true(failures >= 3); /* the visit, the page, the phone's copy */
}

TEST_WITH(health_is_for_this_machine, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/healthz");

    assert_int_equal(web_route_send(&request), 404);
    request.client.bytes[0] = 127;
    assert_int_equal(web_route_send(&request), 200);
    web_route.board.is_away = true;
    assert_int_equal(web_route_send(&request), 503);
}

/* --- names and origins ------------------------------------------------------------------------ */

TEST_WITH(other_names_are_refused, web_route_setup, NULL)
{
    static const char *const right[] = {"hearsay.lan", "HEARSAY.lan", "hearsay.lan:80", "10.0.0.1",
                                        "10.0.0.1:80"};
    static const char *const wrong[] = {
        "evil.example",        "hearsay.lan:81", "10.0.0.2", "localhost", "",
        "hearsay.lan.",        "hearsay.lan:",   "[::1]",    "a:b:c",     "hearsay.lan:80x",
        "10.0.0.1:99999999999"};
    struct http_request request = web_route_request_of("/");

    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        request.host = right[i];
        assert_int_equal(web_route_send(&request), 200);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        request.host = wrong[i];
        assert_int_equal(web_route_send(&request), 421);
    }
    request.host = NULL;
    assert_int_equal(web_route_send(&request), 421);
}

TEST_WITH(localhost_is_for_loopback, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/");

    web_route.router.names.places[0] =
        (struct web_config_listener){.family = 4, .address = {127, 0, 0, 1}, .port = 7118};
    request.host = "localhost:7118";
    assert_int_equal(web_route_send(&request), 200);
    request.host = "localhost";
    assert_int_equal(web_route_send(&request), 421);
}

/* Without internet all names lead here: phones are sent to ours, and POST gets nothing. */
TEST_WITH(a_portal_redirects, web_route_setup, NULL)
{
    struct http_request request = web_route_request_of("/generate_204");

    web_route.config.portal = WEB_PORTAL_OFFLINE;
    request.host = "connectivitycheck.gstatic.com";
    assert_int_equal(web_route_send(&request), 302);
    assert_string_equal(web_route.exchange.location, "http://hearsay.lan/");
    assert_int_equal(web_route_post("/stay", "x=1"), 200);
    assert_int_equal(web_route_send(&request), 204);
    request.method = HTTP_POST;
    assert_int_equal(web_route_send(&request), 421);
}

/* --- going away ------------------------------------------------------------------------------- */

TEST_WITH(who_goes_is_forgotten, web_route_setup, NULL)
{
    web_route.board.is_slow = true;
    assert_int_equal(web_route_get("/"), 0);
    assert_non_null(web_route.exchange.context);
    route_gone(&web_route.router, &web_route.exchange);
    assert_int_equal(web_route.board.forgotten, 1);
    assert_int_equal(web_route_get("/"), 0);
    web_route_reply(BOARD_DONE);
    assert_int_equal(web_route.exchange.status, 200);
    /* answered already: nothing is left of it */
    route_gone(&web_route.router, &web_route.exchange);
    assert_int_equal(web_route.board.forgotten, 1);
}

int main(void)
{
    if (sodium_init() < 0 || uv_loop_init(&web_route.loop) != 0) {
        return 1;
    }
    int failed = check_run(NULL, NULL);
    return uv_loop_close(&web_route.loop) != 0 ? 1 : failed;
}
