/* SPDX-License-Identifier: Apache-2.0 */
/* program: the parts of hearsay-bridge together: start, end, and what `status` asks. */
#pragma once

#include <stdio.h>

#include <uv.h>

#include "client/bridge/ask/ask.h"
#include "client/bridge/hub/hub.h"
#include "client/bridge/own/own.h"
#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"
#include "daemon/system/runtime.h"

/* --- report ----------------------------------------------------------------------------------- */

/*
 * What `hearsay-bridge status` says. The running program listens on a Unix socket in its
 * state directory; whoever connects sends one word, gets a text, and the connection ends. The text
 * for people begins with a line that says whether there is trouble, which is not printed.
 */

#define REPORT_WELL    "well\n"
#define REPORT_TROUBLE "trouble\n"

struct report;

/* Writes the text: for Prometheus, or for people. */
typedef void report_writer(void *context, bool is_metrics, FILE *out);

/* Listens. 0, or -ERR_... with a sentence in out_reason (SETTINGS_REASON_BYTES). */
int report_new(uv_loop_t *loop, const struct bridge_config *config, report_writer *write,
               void *context, struct report **out_report, char *out_reason);
void report_stop(struct report *report);
void report_free(struct report *report); /* NULL is fine */

/* Asks the running program and prints its text. *out_has_trouble: whether the text says so. 0, or
 * -ERR_SYSTEM with a sentence. */
int report_ask(const struct bridge_config *config, bool is_metrics, FILE *out,
               bool *out_has_trouble, char *out_reason);

/* --- program ---------------------------------------------------------------------------------- */

struct program {
    uv_loop_t loop;
    const struct bridge_config *config; /* borrowed */
    struct wire *wire;
    struct own *own;
    struct hub *hub;
    struct ask *ask;
    struct report *report;
    struct runtime runtime; /* signals, watchdog, the filter of system calls */
    int lock;               /* of the state directory */
};

/*
 * Checks for --check-config that the user of the key `user` exists and can be told from root and
 * from others, and that this user can read certificate, key and CA, which must fit each other. A
 * process of root becomes this user. Returns 0, or SETTINGS_REFUSED with a line for each error in
 * out_reason (SETTINGS_REASON_BYTES).
 */
int program_check(const struct bridge_config *config, char *out_reason);

/*
 * Becomes the configured user, locks the state directory and starts all parts. `program` has room
 * for a struct and any content. 0; or with a sentence in out_reason (SETTINGS_REASON_BYTES)
 * SETTINGS_REFUSED, where the configuration is wrong, or -ERR_...; then the process must end.
 */
int program_start(struct program *program, const struct bridge_config *config, char *out_reason);

/* Runs until SIGTERM or SIGINT, and frees everything. */
void program_run(struct program *program);
