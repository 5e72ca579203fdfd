/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: what changes at a host, for copies of the host, and applying what changed elsewhere. The
 * daemon accepts these requests on the listeners of a bridge. Part of hearsay.h.
 */
#ifndef HEARSAY_FEED_H
#define HEARSAY_FEED_H

#include "base.h"
#include "connection.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEARSAY_CHANGES_MAX 256 /* changes of one request or answer */

enum hearsay_change_kind {
    HEARSAY_CHANGE_MESSAGE = 1, /* a message, hidden ones included */
    HEARSAY_CHANGE_GONE,        /* a message that is no more */
    HEARSAY_CHANGE_RULE         /* a decision of the operator about the whole host */
};

/* What holds now; docs/protocol.md, section "Copies", describes the fields. Pointers of an answer
 * are borrowed from it. */
struct hearsay_change {
    uint64_t seq; /* 0 in hearsay_submit_apply */
    enum hearsay_change_kind kind;
    uint8_t id[HEARSAY_ID_BYTES]; /* MESSAGE and GONE */
    struct {
        uint64_t epoch;
        const uint8_t *filter;
        size_t filter_bytes;
        const char *media_type;
        const uint8_t *payload;
        size_t payload_bytes;
        int64_t deposited_ms;
        int64_t expires_ms;
        uint32_t reach;               /* millionths */
        const uint8_t *withdraw_hash; /* HEARSAY_HASH_BYTES; NULL: cannot be withdrawn */
        uint32_t state;
        uint32_t reports;
    } message;
    struct {
        int64_t until_ms;
        uint32_t why;
    } gone;
    struct {
        uint32_t kind;
        const uint8_t *value; /* NULL: none */
        size_t value_bytes;
        uint32_t number;
        int64_t created_ms;
        bool dropped;
        int64_t until_ms; /* 0: no end */
    } rule;
    struct {
        const uint8_t *store_id; /* HEARSAY_ID_BYTES; NULL: the change names no decision */
        uint64_t number;
        int64_t time_ms;
    } decision;
};

/* Which changes. */
struct hearsay_changes {
    const char *host;    /* NULL: the default one */
    uint64_t after;      /* `next` of the answer before; 0: from the beginning */
    uint32_t limit;      /* 0: as many as fit */
    uint32_t wait_ms;    /* how long the server may wait for a change */
    uint64_t replicated; /* all changes up to here are in the copies; 0: nothing new */
    bool waiting;        /* only decisions of operators at this copy that wait for the owner */
};

struct hearsay_changed {
    const struct hearsay_change *changes; /* change_count of them */
    size_t change_count;
    uint64_t next;
    bool more;
    uint32_t waiting;         /* with `waiting`: how many decisions wait for the owner */
    int64_t waiting_since_ms; /* when the oldest of them was made; 0: none waits */
};

/* Who says what is applied. */
enum hearsay_apply_as {
    HEARSAY_APPLY_AS_REPLICA = 1,
    HEARSAY_APPLY_AS_RESTORE = 2,
    HEARSAY_APPLY_AS_OPERATOR = 3
};

struct hearsay_apply {
    const char *host;                     /* NULL: the default one */
    const struct hearsay_change *changes; /* change_count of them, up to HEARSAY_CHANGES_MAX */
    size_t change_count;
    enum hearsay_apply_as as;
    bool restored; /* with AS_RESTORE: these were the last changes */
};

struct hearsay_applied {
    uint32_t changed;
    uint32_t conflicts;
    uint32_t no_room;  /* messages for which there is no room: apply them again later */
    uint32_t not_kept; /* decisions of operators at this copy that the owner has not kept */
};

/* Submit a request, as hearsay_submit_query. The answers are replies of the kinds
 * HEARSAY_REPLY_CHANGED and HEARSAY_REPLY_APPLIED. */
HEARSAY_API int hearsay_submit_changes(struct hearsay *server,
                                       const struct hearsay_changes *changes, uint64_t *out_ticket,
                                       struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_apply(struct hearsay *server, const struct hearsay_apply *apply,
                                     uint64_t *out_ticket, struct hearsay_error *out_error);

/* The same, and wait for the answer, which is borrowed until the next call on the connection.
 * Return HEARSAY_OK or an error of hearsay_query. */
HEARSAY_API int hearsay_changes(struct hearsay *server, const struct hearsay_changes *changes,
                                int timeout_ms, const struct hearsay_changed **out_changed,
                                struct hearsay_error *out_error);
HEARSAY_API int hearsay_apply(struct hearsay *server, const struct hearsay_apply *apply,
                              int timeout_ms, struct hearsay_applied *out_applied,
                              struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
