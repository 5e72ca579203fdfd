/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rights: rights.conf, which tells the hub's nats-servers who may connect, and what each may say
 * and hear. Each access point has an account of its own, so it sees and reaches only what its
 * account imports. What it sends goes to the account HUB, where streams and bridges are, and the
 * servers put a reply subject of their own in the place of the one that it gives. So an answer
 * comes back to the access point, and never goes to a subject of others: NATS checks no reply
 * subject.
 */
#ifndef CLIENT_BRIDGE_HUB_RIGHTS_H
#define CLIENT_BRIDGE_HUB_RIGHTS_H

#include <stdio.h>

enum {
    RIGHTS_REASON_BYTES = 512,
    /* Of one access point at the same time. A bridge has one, and each lost one may count at its
     * server until the server notices. */
    RIGHTS_CONNECTIONS = 16
};

/*
 * Reads who may connect, and writes rights.conf to `out`. A line of `in` is `host NAME [HOOD]` for
 * an access point, `host NAME,NAME... [HOOD]` for one that carries several hosts, with a
 * certificate of the first name, or `hub NAME` for a bridge at the hub; a # begins a comment.
 * `path` is the name of `in` for sentences. 0, or -1 with a sentence in out_reason
 * (RIGHTS_REASON_BYTES).
 */
int rights_write(FILE *out, FILE *in, const char *path, char *out_reason);

#endif
