/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin: the requests of an administrator. The daemon accepts these requests only on a Unix socket
 * that is not a gateway's, and only from its own user, from root and from members of its
 * admin_group. Others get HEARSAY_CODE_FORBIDDEN. Part of hearsay.h.
 */
#ifndef HEARSAY_ADMIN_H
#define HEARSAY_ADMIN_H

#include "base.h"
#include "connection.h"
#include "context.h"
#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The kind of a request. The comment of a kind names the fields of struct hearsay_admin that the
 * request uses. The kinds from HEARSAY_ADMIN_STATS to HEARSAY_ADMIN_ACCEPT, and those from
 * HEARSAY_ADMIN_HIDE on, also use `host`.
 */
enum hearsay_admin_kind {
    HEARSAY_ADMIN_STATS = 1, /* host: NULL means all hosts */
    HEARSAY_ADMIN_REMOVE,    /* id, why, reason; ban: also refuse its payload from now on */
    HEARSAY_ADMIN_RESTORE,   /* id, why, reason: show a message that is hidden or removed */
    HEARSAY_ADMIN_REPORTED,  /* number: messages at most, 0: as many as fit; pending, withheld
                                or all; after with after_bytes for further pages */
    HEARSAY_ADMIN_BAN,       /* payload_hash, or filter and max_distance */
    HEARSAY_ADMIN_UNBAN,     /* payload_hash, or filter */
    HEARSAY_ADMIN_BANS,      /* number: bans to skip */
    HEARSAY_ADMIN_ACCEPT,    /* word: open, review, closed, auto; NULL: only read the mode */
    HEARSAY_ADMIN_CHECK,     /* compare index, counters and store */
    HEARSAY_ADMIN_BACKUP,    /* word: an absolute path on the server */
    HEARSAY_ADMIN_COMPACT,   /* give unused storage back */
    HEARSAY_ADMIN_RELOAD,    /* read the configuration again */
    HEARSAY_ADMIN_LOG_LEVEL, /* word: error, warning, info, debug; NULL: only read the level */
    HEARSAY_ADMIN_HIDE,      /* id, why, reason: hide a message until it is restored */
    HEARSAY_ADMIN_DECISIONS, /* number: decisions at most, 0: as many as fit; before */
    HEARSAY_ADMIN_WAIT,      /* answered when a message is newly reported, or waits for review */
    HEARSAY_ADMIN_NOTICE,    /* word: a text to put up, with lang and until_ms; or number: of the
                                notice to take down; neither: only read the notices */
    HEARSAY_ADMIN_SIMILAR    /* max_distance; number: groups at most, 0: as many as fit */
};

struct hearsay_admin {
    enum hearsay_admin_kind kind;
    const char *host;                    /* NULL: the default one */
    const uint8_t *id;                   /* HEARSAY_ID_BYTES */
    const uint8_t *payload_hash;         /* hearsay_hash of a payload */
    const struct hearsay_filter *filter; /* messages with a similar filter are banned */
    uint32_t max_distance;               /* millionths; 0: exactly this filter, or equal filters */
    uint32_t number;
    bool ban;
    bool pending;  /* list messages that wait for review, instead of reported ones */
    bool withheld; /* list messages that an operator has hidden or removed, instead of reported
                      ones */
    bool all;      /* list all messages but removed ones, the newest first, instead of reported
                      ones */
    const uint8_t *after; /* `next` or `previous` of another page of the list; NULL: the first */
    size_t after_bytes;
    const char *word;
    enum hearsay_report_kind why; /* for the list of decisions; 0: not said */
    const char *reason;           /* the same in words: one line of at most 200 bytes; NULL: none */
    uint64_t before;              /* only decisions with lower numbers; 0: the newest */
    const char *lang;             /* the language of a notice, such as "de"; NULL: not said */
    int64_t until_ms; /* when a notice ends by itself, by the server's clock; 0: it does not */
};

/*
 * A figure of the server, such as "messages", or of a host, such as "host/NAME/messages".
 * docs/operations/monitoring.md describes the figures.
 */
struct hearsay_figure {
    const char *name;
    int64_t value;
};

/* Why a message was reported. */
struct hearsay_reason {
    enum hearsay_report_kind kind; /* or a number that this library does not know */
    const char *text;              /* the reporter's words; NULL: none */
};

/* A message that was reported, or that waits for review. */
struct hearsay_reported {
    struct hearsay_message message;       /* epoch is not set */
    uint32_t reports;                     /* from different senders */
    bool hidden;                          /* queries do not show it */
    bool pending;                         /* hidden because it waits for review */
    bool payload_omitted;                 /* the payload did not fit into the frame */
    const struct hearsay_reason *reasons; /* reason_count of them, oldest first */
    size_t reason_count;
    int64_t destroyed_ms; /* when the server destroys the message; 0: it was not removed */
};

/* A line of the list of decisions. */
struct hearsay_decision {
    uint64_t number; /* later decisions have higher numbers */
    int64_t time_ms;
    const char *act;              /* hide, remove, restore, ban, unban, accept-MODE, or another */
    const uint8_t *id;            /* HEARSAY_ID_BYTES; NULL: about no single message */
    enum hearsay_report_kind why; /* 0: not said; or a number that this library does not know */
    uint32_t reports;             /* how many reports the message had */
    const char *reason;           /* NULL: none */
    uint32_t uid;                 /* the user who decided */
    bool web;                     /* by the page of the administrator */
};

/* A group of messages within a distance of its oldest message. */
struct hearsay_similar {
    const uint8_t *oldest; /* HEARSAY_ID_BYTES */
    const uint8_t *newest; /* HEARSAY_ID_BYTES */
    int64_t oldest_ms;     /* when they were deposited */
    int64_t newest_ms;
    uint64_t count; /* of messages in the group */
    uint64_t epoch;
};

struct hearsay_ban {
    const uint8_t *payload_hash; /* HEARSAY_HASH_BYTES, or NULL */
    const uint8_t *filter;       /* filter_bytes of them, or NULL */
    size_t filter_bytes;
    uint32_t max_distance; /* millionths: a filter within this distance is refused */
    int64_t since_ms;
};

/* The answer. The request's kind decides which fields are set. */
struct hearsay_admin_reply {
    const struct hearsay_figure *figures; /* stats: figure_count of them */
    size_t figure_count;
    const struct hearsay_reported *reported; /* reported: reported_count of them */
    size_t reported_count;
    uint64_t total;                 /* reported, similar: including those that did not fit; 0 for
                                       all messages */
    const uint8_t *next;            /* cursor of the next page of the list; NULL: there is none */
    size_t next_bytes;              /* at most HEARSAY_CURSOR_BYTES */
    const uint8_t *previous;        /* all messages: cursor of newer ones; NULL: there are none, or
                                       the request had no cursor */
    size_t previous_bytes;          /* at most HEARSAY_CURSOR_BYTES */
    const struct hearsay_ban *bans; /* bans: ban_count of them */
    size_t ban_count;
    bool more; /* bans: there are more; ask again with `number`. decisions: there
                  are older ones; ask again with `before` */
    const struct hearsay_decision *decisions; /* decisions: decision_count of them, oldest first */
    size_t decision_count;
    int64_t destroyed_ms;         /* remove: when the message is destroyed; 0: it is */
    const uint8_t *banned_hash;   /* restore: HEARSAY_HASH_BYTES of the payload, if it is banned */
    const uint8_t *id;            /* wait: the oldest new message */
    enum hearsay_report_kind why; /* wait: kind of its first report; 0: none, or not known */
    bool pending;                 /* wait: it waits for review */
    uint64_t count;               /* wait: how many messages are new */
    const char *word;             /* accept: the mode; log level: the level */
    const char *source;           /* accept: "operator", "schedule" or "configuration" */
    int64_t until_ms;             /* accept: when the schedule changes it; 0: not said */
    const char *const *problems;  /* check: problem_count of them; 0: no problems */
    size_t problem_count;
    uint64_t messages;     /* check: messages that were checked; similar: compared */
    uint64_t bytes_before; /* compact */
    uint64_t bytes_after;  /* compact, backup */
    const struct hearsay_house_notice *notices; /* notice: all now, oldest first */
    size_t notice_count;
    const struct hearsay_similar *similar; /* similar: similar_count groups, the largest first */
    size_t similar_count;
};

/*
 * Sends the request and waits for the reply, as the calls of hearsay/message.h do. *out_reply is
 * borrowed until the next call on the connection. The time that the requests check, backup,
 * compact and similar take grows with the size of the store: choose timeout_ms accordingly.
 */
HEARSAY_API int hearsay_admin(struct hearsay *server, const struct hearsay_admin *admin,
                              int timeout_ms, const struct hearsay_admin_reply **out_reply,
                              struct hearsay_error *out_error);

/* --- export ----------------------------------------------------------------------------------- */

/* One page of all messages of a host. */
struct hearsay_export {
    const char *host;     /* NULL: the default one */
    const uint8_t *after; /* `next` of the page before; NULL: the first page */
    size_t after_bytes;
    uint32_t limit; /* messages at most; 0: as many as fit */
};

struct hearsay_exported {
    struct hearsay_message message;
    const uint8_t *filter;
    size_t filter_bytes;
    uint32_t reach;               /* millionths */
    const uint8_t *withdraw_hash; /* HEARSAY_HASH_BYTES, or NULL */
};

struct hearsay_page {
    const struct hearsay_exported *messages; /* message_count of them */
    size_t message_count;
    const uint8_t *next; /* cursor of the next page; NULL: this is the last page */
    size_t next_bytes;
};

/* *out_page is borrowed until the next call. */
HEARSAY_API int hearsay_export(struct hearsay *server, const struct hearsay_export *page,
                               int timeout_ms, const struct hearsay_page **out_page,
                               struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
