/* SPDX-License-Identifier: Apache-2.0 */
/* setup_inner: the parts of setup-hub. */
#pragma once

#include <stdio.h>

#include <nats/nats.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/wire/version.h"

/* --- rights ----------------------------------------------------------------------------------- */

/*
 * Rights.conf, which tells the hub's nats-servers who may connect, and what each may say
 * and hear. Each access point has an account of its own, so it sees and reaches only what its
 * account imports. What it sends goes to the account HUB, where streams and bridges are, and the
 * servers put a reply subject of their own in the place of the one that it gives. So an answer
 * comes back to the access point, and never goes to a subject of others: NATS checks no reply
 * subject.
 */

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

/* --- files ------------------------------------------------------------------------------------ */

/*
 * The configuration of the hub's nats-servers. One file for each server, n1.conf and so on,
 * and rights.conf, which all of them include: who may connect, and what each may say and hear.
 */

enum { HUB_REASON_BYTES = RIGHTS_REASON_BYTES, HUB_ROUTE_OFFSET = 2000 };

struct hub_files {
    const struct bridge_config *config; /* its `nats` lines are the servers, n1 first */
    const char *folder;                 /* where the files go, and where certificates are */
    const char *hosts;                  /* the file of who may connect */
    const char *store;                  /* the servers' own folders are below this one */
    uint64_t disk_bytes;                /* that each server may use */
    struct hub_version version;         /* of the servers */
};

/*
 * Writes the files; hub_files_write_rights: rights.conf only. Those that are there are replaced
 * whole. rights says what `hosts` has. Prints what was written to `out`. 0, or -1 with a sentence
 * in out_reason (HUB_REASON_BYTES).
 */
int hub_files_write_rights(const struct hub_files *files, FILE *out, char *out_reason);
int hub_files_write(const struct hub_files *files, FILE *out, char *out_reason);

/* --- streams ---------------------------------------------------------------------------------- */

/*
 * The streams of the hub, which the bridges' subjects (wire/subject.h) are stored in. A
 * server keeps up to STREAMS_STATES states of a message, and not only the last one: the bridge at
 * the hub erases superseded states with overwriting, which a server does only to a message that is
 * still there.
 */

enum {
    STREAMS_STATES = 256,
    STREAMS_COPIES = 3,
    STREAMS_PARTS = 20,
    STREAMS_DISK_LEAST = 20 * 1024 * 1024 /* servers take a limit of 0 for none */
};

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
