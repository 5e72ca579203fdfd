/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: answers one request of a moderator's browser. A thread of libuv asks hearsayd, because that
 * may take time. The thread reads the job and the configuration, and writes only to the job.
 */
#pragma once

#include <uv.h>

#include "client/web/moderate/login.h"
#include "client/web/moderate/page.h"
#include "client/web/setup/config.h"

struct moderate;

struct job {
    uv_work_t work;
    struct moderate *moderate;
    const struct web_config *config; /* of `moderate`; threads do not read its password */
    struct http_exchange *exchange;  /* NULL: the client has gone */
    struct http_address client;
    char *body; /* owned: the form or the query, which `act` and others point into */
    size_t body_bytes;
    const char *password; /* of the form; NULL: none */
    const char *ticket;   /* of that form, if it was right; NULL: none */
    struct desk_act act;
    struct desk desk;
    char *places; /* owned: of desk.places; NULL: none */
    char token[LOGIN_TEXT_BYTES];
    char key[LOGIN_PAGE_KEY_BYTES];
    char hash[WEB_CONFIG_HASH_BYTES]; /* of the right password, when the check began */
    struct login_said said;           /* by the last act of this login */
    struct desk_notice notice;        /* about what was done; may borrow from `said` or `error` */
    struct hearsay_error error;
    bool is_right;     /* the password */
    bool lacks_memory; /* to check the password */
    struct html html;
};

/* Does what was pressed, and sets `notice`. */
void job_do(struct job *job);

/* Writes the page of who is logged in, with `notice`. */
void job_write_page(struct job *job);
