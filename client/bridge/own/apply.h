/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: brings changes into hearsayd, one request after another. What was asked for while hearsayd
 * is away is sent when it is back. A request that is too large for hearsayd, or that has a change
 * which hearsayd does not take, is split. A change that fails alone is left out, with a log line.
 */
#ifndef CLIENT_BRIDGE_OWN_APPLY_H
#define CLIENT_BRIDGE_OWN_APPLY_H

#include "client/link/link.h"
#include "daemon/system/log.h"
#include "proto/letter.h"

enum { APPLY_JOBS_MAX = 64 }; /* that wait */

struct apply_job;

struct apply {
    const char *host;
    struct link *link; /* NULL: hearsayd is away */
    struct apply_job *first;
    struct apply_job *last;
    size_t count;
    uint64_t ticket; /* of the first job; 0: not sent */
    uint64_t applied;
    uint64_t refused; /* changes that were left out, and requests that failed */
    uint64_t no_room; /* messages that hearsayd had no room for: not applied, and not in refused */
    struct log_gate gate;
    uint64_t room_said_ms; /* until then nothing is said of decisions without room */
};

/*
 * `done` is called when all changes are applied, left out, or without room; or with false and a
 * sentence where hearsayd fails, and may not fail later. It may be called before apply_push
 * returns. -ERR_NOMEM; or APPLY_FULL, where too many jobs wait: then `done` is not called.
 */
enum { APPLY_FULL = 1 };
typedef void apply_done(void *context, bool is_applied, const char *why);
int apply_push(struct apply *apply, const struct hearsay_change *changes, size_t count,
               enum hearsay_apply_as as, bool restored, apply_done *done, void *context);

void apply_greeted(struct apply *apply, struct link *link);
void apply_lost(struct apply *apply);

/* Whether the reply was for a job. */
bool apply_take_reply(struct apply *apply, const struct hearsay_reply *reply);

/* Drops all jobs without their callbacks. */
void apply_clear(struct apply *apply);

#endif
