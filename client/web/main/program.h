/* SPDX-License-Identifier: Apache-2.0 */
/* program: the parts of hearsay-web together: start, reload, end. */
#pragma once

#include <uv.h>

#include "client/web/main/inner.h"
#include "client/web/moderate/moderate.h"
#include "client/web/route/router.h"
#include "client/web/route/ticks.h"
#include "client/web/setup/options.h"
#include "daemon/system/runtime.h"

struct program {
    uv_loop_t loop;
    struct web_config config;
    const struct settings_program *page;    /* borrowed, as the options */
    const struct settings_options *options; /* to read the configuration again */
    struct listen listen;
    struct board *board;     /* NULL: the moderators' page is served */
    struct live *live;       /* the same */
    struct devices *devices; /* the same */
    struct http_server *http;
    struct stay stay;         /* of the guests' page */
    struct router router;     /* the same */
    struct ticks ticks;       /* the same */
    struct moderate moderate; /* of the moderators' page */
    struct runtime runtime;   /* signals, watchdog, the filter of system calls */
    uv_timer_t tidy;          /* forgets requests that have ended */
};

/*
 * Opens the listeners, becomes the configured user and begins to serve. `program` has room for a
 * struct and any content. 0; or with a sentence in out_reason (SETTINGS_REASON_BYTES)
 * SETTINGS_REFUSED, where the configuration is wrong, or -ERR_...; then the process must end.
 */
int program_start(struct program *program, const struct settings_program *page,
                  const struct settings_options *options, const struct web_config *config,
                  char *out_reason);

/* Serves until SIGTERM or SIGINT, and frees everything. */
void program_run(struct program *program);
