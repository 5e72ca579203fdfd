/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_route_fixture: what the tests of routes share: a router whose board, HTTP and pages are
 * fakes, and memory that fails when a test says so. A page is a line that tells what it was given.
 */
#pragma once

#include <uv.h>

#include "client/web/page.h"
#include "client/web/route/router.h"
#include "client/web/route/secret.h"

/* The digits of this place, of its host "garden", and of another place. */
#define PLACE  "01234567"
#define GARDEN "01234568"
#define OTHER  "76543210"
#define HERE   "89abcdef" /* this place, for who is at place:bar */

/* The seed of a form. */
#define SEED "00112233445566778899aabbccddeeff"

enum { WEB_ROUTE_BODY_BYTES = 4096 /* of forms */ };

/* The fake HTTP's. */
struct http_exchange {
    void *context;
    unsigned status; /* 0: not answered yet */
    uint32_t retry_after_s;
    uint32_t max_age_s;
    char location[200];
    char type[64];
    char vary[32];
    char body[8192];
};

/* What the last page was given. */
struct web_route_shown {
    char token[NONCE_TEXT_BYTES];
    char seed[SECRET_HEX_BYTES];
    char key[NONCE_TEXT_BYTES];
    char text[4096];
    char code[SECRET_CODE_TEXT_BYTES];
    char id[SECRET_HEX_BYTES];
    char lang[8];
    enum page_notice notice;
    uint64_t seconds;
    uint64_t excess;
    bool is_excess_of_bytes;
    uint32_t bytes_max;
    char field[32];
    char kept[200];
    char host[64];
    bool has_form;
    uint32_t ttl_max_s; /* of the page "Who can read what" */
};

/* What the board was asked last, and what it answers. */
struct web_route_board {
    struct hearsay_welcome welcome;
    struct hearsay_host host;
    bool is_away;
    bool is_slow; /* answers only when the test calls web_route_reply */
    bool keeps_list;
    enum board_outcome outcome;
    enum board_outcome place; /* of board_place */
    struct hearsay_error error;
    int leaves;
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    char text[2100];
    bool is_answer; /* what was left last */
    uint8_t parent[HEARSAY_ID_BYTES];
    uint64_t epoch;
    struct view view;
    uint32_t ttl_s;
    enum hearsay_report_kind kind;
    char reason[1001];
    board_done *done;
    void *context;
    int forgotten;
    uint64_t version; /* of the list */
};

struct web_route {
    uv_loop_t loop; /* main's to open and close */
    struct web_config config;
    struct portal portal;
    struct router router;
    struct http_exchange exchange; /* of the last request */
    struct web_route_board board;
    struct web_route_shown shown;
    int written;      /* pages */
    unsigned fail_at; /* the allocation that fails, counted from 1; 0: none */
};

extern struct web_route web_route;

/* For cmocka: a board that is there and empty, and a router with the configuration's defaults. */
int web_route_setup(void **state);

/* Makes a request as a browser at 10.0.0.7 sends it. */
struct http_request web_route_request_of(const char *path);

/* Makes a form as a browser sends it: with the token of its address, and its origin. `out_body`
 * has WEB_ROUTE_BODY_BYTES or more. */
struct http_request web_route_form_of(const char *path, const char *fields, char *out_body);

/* Sends a request. Returns the answer's status; 0: there is no answer yet. */
unsigned web_route_send(const struct http_request *request);

/* Makes a request and sends it. */
unsigned web_route_get(const char *path);

/* Makes a form and sends it. */
unsigned web_route_post(const char *path, const char *fields);

/* The board answers what it was asked last; for a board that is slow. */
void web_route_reply(enum board_outcome outcome);

/* How many lists are kept as they were written. */
size_t web_route_count_sheets(void);
