/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: what `hearsay-bridge status` says. The running program listens on a Unix socket in its
 * state directory; whoever connects sends one word, gets a text, and the connection ends.
 */
#ifndef CLIENT_BRIDGE_MAIN_REPORT_H
#define CLIENT_BRIDGE_MAIN_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <uv.h>

#include "client/bridge/setup/config.h"

struct report;

/* Writes the text: for Prometheus, or for people. */
typedef void report_writer(void *context, bool is_metrics, FILE *out);

/* Listens. 0, or -ERR_... with a sentence in out_reason (SETTINGS_REASON_BYTES). */
int report_new(uv_loop_t *loop, const struct bridge_config *config, report_writer *write,
               void *context, struct report **out_report, char *out_reason);
void report_stop(struct report *report);
void report_free(struct report *report); /* NULL is fine */

/* Asks the running program and prints its text. 0, or -ERR_SYSTEM with a sentence. */
int report_ask(const struct bridge_config *config, bool is_metrics, FILE *out, char *out_reason);

#endif
