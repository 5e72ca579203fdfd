/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_request: the requests of hearsay.proto as plain structs. Include proto/msg.h instead of this
 * file; proto/msg.h has the rules for absent fields and the units.
 */
#ifndef PROTO_MSG_REQUEST_H
#define PROTO_MSG_REQUEST_H

#include "proto/msg_base.h"
#include "proto/msg_feed.h"
#include "proto/msg_query.h"

struct msg_hello {
    uint32_t versions[LIMIT_VERSIONS];
    uint32_t version_count;
    struct msg_text agent;
    struct msg_bytes resume_token;
    struct msg_bytes on_behalf;       /* an address of 4 or 16 bytes; empty when absent */
    struct msg_bytes on_behalf_local; /* LIMIT_ADDRESS_BYTES; empty when absent */
};

struct msg_deposit {
    struct msg_text host;
    struct msg_bytes id;        /* LIMIT_ID_BYTES */
    uint64_t epoch;             /* 0 when absent */
    struct msg_bytes filter;    /* 1 .. LIMIT_FILTER_BYTES */
    struct msg_text media_type; /* text/plain when absent */
    struct msg_bytes payload;   /* empty when absent */
    bool has_ttl;
    uint32_t ttl_s;
    uint32_t reach_ppm;             /* 1,000,000 when absent */
    struct msg_bytes withdraw_hash; /* LIMIT_HASH_BYTES or absent */
};

/* A watch has no k, so query.k is 0. */
struct msg_watch {
    struct msg_query query;
    uint64_t after_seq; /* UINT64_MAX when absent: new messages only */
};

struct msg_unwatch {
    uint64_t watch_id; /* 0 when absent; no watch has this id */
};

struct msg_get {
    struct msg_text host;
    struct msg_bytes id;
};

struct msg_withdraw {
    struct msg_text host;
    struct msg_bytes id;
    struct msg_bytes token; /* LIMIT_TOKEN_BYTES */
};

struct msg_export {
    struct msg_text host;
    struct msg_bytes after; /* 1 .. LIMIT_CURSOR_BYTES, or absent */
    uint32_t limit;         /* 0 when absent */
};

struct msg_summary {
    struct msg_text host;
    uint64_t epoch;  /* 0 when absent */
    uint32_t groups; /* 0 when absent */
};

struct msg_report {
    struct msg_text host;
    struct msg_bytes id;
    struct msg_text reason; /* why the message is reported: up to LIMIT_REASON_BYTES bytes without
                             * ASCII control characters; may be absent */
    enum msg_report_kind kind; /* MSG_REPORT_OTHER when absent */
};

/*
 * The requests of administration whose kinds are MSG_REQUEST_STATS to MSG_REQUEST_SIMILAR share
 * this struct. The comment of a member names the requests that use the member.
 */
struct msg_admin {
    struct msg_text host;      /* stats: absent means all of them */
    struct msg_bytes id;       /* remove, restore, hide */
    bool ban;                  /* remove */
    bool pending;              /* reported */
    bool withheld;             /* reported */
    bool all;                  /* reported */
    struct msg_bytes after;    /* reported: 1 .. LIMIT_CURSOR_BYTES, or absent */
    enum msg_report_kind kind; /* remove, restore, hide: 0 when absent */
    struct msg_text reason;    /* remove, restore, hide: up to LIMIT_NOTE_BYTES; or absent */
    uint64_t before;           /* decisions: UINT64_MAX when absent */
    uint32_t number;           /* reported, decisions, similar: limit; bans: skip; notice: drop */
    struct msg_bytes payload_hash; /* ban, unban: LIMIT_HASH_BYTES or absent */
    struct msg_bytes filter;       /* ban, unban: or absent */
    uint32_t max_distance_ppm;     /* ban, similar */
    struct msg_text word; /* the field `mode` of Accept, `level` of LogLevel, `path` of Backup,
                           * `text` of Notice; other requests do not use it */
    struct msg_text lang; /* notice */
    int64_t until_ms;     /* notice; 0: absent */
};

struct msg_here {
    struct msg_text host;
    struct msg_bytes on_behalf; /* an address of 4 or 16 bytes; empty when absent */
};

struct msg_serve {
    const struct msg_text *hoods; /* hood_count of them */
    size_t hood_count;
};

/* Has results, an error, or neither. */
struct msg_answered {
    uint64_t ask_id;
    bool has_results;
    struct msg_results results;
    bool has_error;
    struct msg_error error;
};

struct msg_changes {
    struct msg_text host;
    uint64_t after;      /* 0 when absent */
    uint32_t limit;      /* 0 when absent */
    uint32_t wait_ms;    /* 0 when absent */
    uint64_t replicated; /* 0 when absent */
    bool no_copy;
    bool waiting;
};

struct msg_apply {
    struct msg_text host;
    const struct msg_change *changes; /* change_count of them, up to LIMIT_CHANGES */
    size_t change_count;
    enum msg_apply_as as;
    bool restored;
};

enum msg_request_kind {
    MSG_REQUEST_UNKNOWN = 0, /* the request has no body, or a body that this schema does not have */
    MSG_REQUEST_HELLO,
    MSG_REQUEST_DEPOSIT,
    MSG_REQUEST_QUERY,
    MSG_REQUEST_GET,
    MSG_REQUEST_WITHDRAW,
    MSG_REQUEST_PING,
    MSG_REQUEST_EXPORT,
    MSG_REQUEST_SUMMARY,
    MSG_REQUEST_HERE,
    MSG_REQUEST_WATCH,
    MSG_REQUEST_UNWATCH,
    MSG_REQUEST_REPORT,
    MSG_REQUEST_STATS,
    MSG_REQUEST_REMOVE,
    MSG_REQUEST_RESTORE,
    MSG_REQUEST_REPORTED,
    MSG_REQUEST_BAN,
    MSG_REQUEST_UNBAN,
    MSG_REQUEST_BANS,
    MSG_REQUEST_ACCEPT,
    MSG_REQUEST_CHECK,
    MSG_REQUEST_BACKUP,
    MSG_REQUEST_COMPACT,
    MSG_REQUEST_RELOAD,
    MSG_REQUEST_LOG_LEVEL,
    MSG_REQUEST_HIDE,
    MSG_REQUEST_DECISIONS,
    MSG_REQUEST_WAIT,
    MSG_REQUEST_NOTICE,
    MSG_REQUEST_SIMILAR,
    MSG_REQUEST_SERVE,
    MSG_REQUEST_ANSWERED,
    MSG_REQUEST_CHANGES,
    MSG_REQUEST_APPLY
};

struct msg_request {
    uint64_t id;      /* not 0 */
    const char *name; /* the name in hearsay.proto of the field that holds the request's body; "" if
                       * the body is absent or not in this schema. Static storage */
    enum msg_request_kind kind;
    union {
        struct msg_hello hello;
        struct msg_deposit deposit;
        struct msg_query query;
        struct msg_get get;
        struct msg_withdraw withdraw;
        struct msg_export export_page;
        struct msg_summary summary;
        struct msg_here here;
        struct msg_watch watch;
        struct msg_unwatch unwatch;
        struct msg_report report;
        struct msg_admin admin; /* MSG_REQUEST_STATS .. MSG_REQUEST_SIMILAR */
        struct msg_serve serve;
        struct msg_answered answered;
        struct msg_changes changes;
        struct msg_apply apply;
    };
};

#endif
