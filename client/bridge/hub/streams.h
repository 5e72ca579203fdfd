/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams: the streams of the hub, which the bridges' subjects (wire/subject.h) are stored in. A
 * server keeps up to STREAMS_STATES states of a message, and not only the last one: the bridge at
 * the hub erases superseded states with overwriting, which a server does only to a message that is
 * still there.
 */
#ifndef CLIENT_BRIDGE_HUB_STREAMS_H
#define CLIENT_BRIDGE_HUB_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <nats/nats.h>

enum { STREAMS_STATES = 256, STREAMS_COPIES = 3, STREAMS_PARTS = 20 };

struct streams_limits {
    uint64_t disk_bytes; /* of a server; a stream gets one of STREAMS_PARTS */
    uint64_t age_s;      /* of messages; rules have no limit */
};

/*
 * Makes those streams that are not there, and changes those that differ; is_dry: only prints what
 * it would do. Prints a line for each change to `out`. Waits up to 40 s for each stream that has
 * fewer than three servers for its copies. 0, or -1 with a sentence in out_reason
 * (STREAMS_REASON_BYTES).
 */
enum { STREAMS_REASON_BYTES = 512 };
int streams_make(jsCtx *js, const struct streams_limits *limits, bool is_dry, FILE *out,
                 char *out_reason);

#endif
