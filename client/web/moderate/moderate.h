/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moderate: answers the requests of the moderators' page. GET / asks for the password. After it,
 * each address of the page begins with the token of the login: GET /TOKEN/ shows the lists, and
 * POST /TOKEN/act does what was pressed and leads back by 303, so that a browser has no form to
 * send again. Passwords are checked, and hearsayd is asked, on libuv's threads: each of these
 * requests has a connection to hearsayd of its own.
 */
#pragma once

#include <sys/types.h>
#include <time.h>

#include <uv.h>

#include "client/web/moderate/login.h"
#include "client/web/route/names.h"
#include "client/web/setup/config.h"
#include "daemon/system/log.h"

struct job; /* of a request */

/* What is remembered of the configuration file since it was last read. If the file differs from
 * this now, somebody has changed it. */
struct moderate_file {
    ino_t inode;
    off_t bytes; /* -1: it must be read */
    struct timespec changed;
};

struct moderate {
    uv_loop_t *loop;          /* borrowed */
    struct web_config config; /* a copy. Threads read it, so only the password ever changes */
    struct moderate_file file;
    struct names names;
    struct login login;
    bool is_checking;           /* a password: one at a time */
    struct job *waiting;        /* for that check; NULL: none */
    struct log_gate wrong_gate; /* of the lines about wrong passwords */
};

/* Fills a zeroed struct. `places` has `count` listeners, with the ports that were bound. */
void moderate_init(struct moderate *moderate, uv_loop_t *loop, const struct web_config *config,
                   const struct web_config_listener *places, size_t count);

/* Forgets what does not count any more. Must be called each minute. */
void moderate_tidy(struct moderate *moderate);

/* For http_options; `context` is a struct moderate. */
bool moderate_allows(void *context, const struct http_address *client);
void moderate_request(void *context, struct http_exchange *exchange,
                      const struct http_request *request);
void moderate_gone(void *context, struct http_exchange *exchange);
