/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg: requests and responses as plain structs, without protobuf. hearsay.proto says what each
 * field means; the comments here say what the struct adds.
 *
 * A decoded message borrows its bytes and strings from the arena that it was decoded with. A
 * message to be encoded borrows everything that it points to from its maker. An absent field has
 * the value that hearsay.proto names; where presence itself matters there is a has_ flag, or a
 * NULL. Units: _ms is Unix milliseconds, _s seconds, _ppm millionths (distances, shares, fills).
 */
#ifndef PROTO_MSG_H
#define PROTO_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"

/* Bytes. data is NULL if the field is absent. If it is present, data is not NULL, even if count is
 * 0. */
struct msg_bytes {
    const uint8_t *data;
    size_t count;
};

/*
 * UTF-8. text is NULL if the field is absent. A decoded text has a NUL behind it and none within; a
 * text to be encoded needs no NUL behind it.
 */
struct msg_text {
    const char *text;
    size_t length;
};

/* The numbers of ErrorCode in hearsay.proto. */
enum msg_error_code {
    MSG_MALFORMED = 1,
    MSG_UNSUPPORTED_VERSION = 2,
    MSG_UNSUPPORTED = 3,
    MSG_INVALID = 4,
    MSG_UNKNOWN_HOST = 5,
    MSG_UNKNOWN_EPOCH = 6,
    MSG_PROFILE_MISMATCH = 7,
    MSG_TOO_LARGE = 8,
    MSG_FILL_OUT_OF_RANGE = 9,
    MSG_RATE_LIMITED = 10,
    MSG_QUOTA = 11,
    MSG_NOT_FOUND = 12,
    MSG_ALREADY_EXISTS = 13,
    MSG_FORBIDDEN = 14,
    MSG_STORAGE = 15,
    MSG_SHUTTING_DOWN = 16,
    MSG_INTERNAL = 17
};

/* The name of a code, such as "MALFORMED"; "UNKNOWN" for any other number. Static storage. */
const char *msg_error_name(enum msg_error_code code);

struct msg_error {
    enum msg_error_code code;
    char message[LIMIT_ERROR_BYTES + 1]; /* a sentence for people */
    char field[LIMIT_FIELD_BYTES + 1];   /* the request's field that is wrong; "" for none */
    uint64_t retry_after_ms;             /* 0: not said */
    uint32_t versions[LIMIT_VERSIONS];
    uint32_t version_count;
};

/*
 * Fills an error. The sentence is made as by printf, and cut at LIMIT_ERROR_BYTES on a character
 * boundary. `field` may be NULL.
 */
void msg_error_set(struct msg_error *error, enum msg_error_code code, const char *field,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Copies `length` bytes of UTF-8 and a NUL into out_text, which has `capacity` >= 1 bytes. A text
 * that does not fit is cut on a character boundary.
 */
void msg_text_copy(char *out_text, size_t capacity, const char *text, size_t length);

enum msg_metric { MSG_METRIC_BITS = 1, MSG_METRIC_ESTIMATED = 2 };
enum msg_order { MSG_ORDER_SIMILARITY = 1, MSG_ORDER_TIME = 2 };
enum msg_evict { MSG_EVICT_REJECT = 1, MSG_EVICT_OLDEST = 2, MSG_EVICT_SOONEST_EXPIRING = 3 };
enum msg_acceptance { MSG_ACCEPT_OPEN = 1, MSG_ACCEPT_REVIEW = 2, MSG_ACCEPT_CLOSED = 3 };
enum msg_durability { MSG_DURABILITY_STORAGE = 1, MSG_DURABILITY_RELAXED = 2 };

/* --- requests --------------------------------------------------------------------------------- */

struct msg_hello {
    uint32_t versions[LIMIT_VERSIONS];
    uint32_t version_count;
    struct msg_text agent;
    struct msg_bytes resume_token;
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
    uint64_t work;                  /* 0 when absent */
};

struct msg_query_part {
    uint64_t epoch;
    struct msg_bytes filter;
    struct msg_bytes contains; /* or absent */
};

struct msg_slice {
    struct msg_bytes bits; /* 1 or more */
    uint32_t hashes;       /* 1 .. LIMIT_HASHES */
    uint64_t seed;         /* 0 when absent */
};

struct msg_query {
    struct msg_text host;
    uint32_t k;                         /* 1 or more */
    const struct msg_query_part *parts; /* part_count of them, 1 .. LIMIT_PARTS */
    size_t part_count;
    uint32_t max_distance_ppm; /* 1,000,000 when absent */
    int64_t since_ms;          /* INT64_MIN when absent */
    int64_t until_ms;          /* INT64_MAX when absent */
    enum msg_metric metric;
    enum msg_order order;
    const struct msg_slice *exclude; /* exclude_count of them */
    size_t exclude_count;
    bool with_payload;
};

/* query.k is 0: a watch has no k. */
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
    uint64_t epoch; /* 0 when absent */
};

struct msg_report {
    struct msg_text host;
    struct msg_bytes id;
    struct msg_text reason; /* up to LIMIT_REASON_BYTES without control characters, or absent */
    uint64_t work;          /* 0 when absent */
};

/* The requests of administration share this struct. Each uses the fields that name it. */
struct msg_admin {
    struct msg_text host;          /* stats: absent means all of them */
    struct msg_bytes id;           /* remove, restore */
    bool ban;                      /* remove */
    bool pending;                  /* reported */
    uint32_t number;               /* reported: limit; bans: skip */
    struct msg_bytes payload_hash; /* ban, unban: LIMIT_HASH_BYTES or absent */
    struct msg_bytes filter;       /* ban, unban: or absent */
    uint32_t max_distance_ppm;     /* ban */
    struct msg_text word;          /* accept: mode; log_level: level; backup: path; or absent */
};

struct msg_here {
    struct msg_text host;
};

enum msg_request_kind {
    MSG_REQUEST_UNKNOWN = 0, /* a request that this schema does not have, or no body */
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
    MSG_REQUEST_KNOWN_ONLY /* in the schema, not served by this version; see `name` */
};

struct msg_request {
    uint64_t id;      /* not 0 */
    const char *name; /* the field's name in hearsay.proto, "" for unknown; static storage */
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
        struct msg_admin admin; /* MSG_REQUEST_STATS .. MSG_REQUEST_LOG_LEVEL */
    };
};

/* --- responses -------------------------------------------------------------------------------- */

struct msg_limits {
    uint32_t frame_bytes;
    uint32_t payload_bytes;
    uint32_t media_type_bytes;
    uint32_t deposit_fill_min_ppm;
    uint32_t deposit_fill_max_ppm;
    uint32_t query_fill_max_ppm;
    uint32_t k_max;
    uint32_t ttl_default_s;
    uint32_t ttl_max_s;
    uint32_t parts_max;
    uint32_t requests_in_flight;
    uint32_t deposits_per_minute; /* of the client's address; 0 when absent: no limit */
    uint32_t queries_per_minute;
    uint32_t deposit_burst;
    uint32_t query_burst;
    uint32_t sessions;
    uint32_t sessions_per_address; /* 0 when absent: no limit */
    uint64_t session_output_bytes;
    uint64_t messages;
    uint64_t bytes;
    uint32_t sender_share_ppm;    /* 1,000,000 when absent */
    uint32_t work_bits;           /* 0 when absent: none */
    uint32_t watches_per_session; /* filters; 0 when absent: none */
    uint32_t watches;
};

struct msg_epoch {
    uint64_t number;      /* not 0 */
    struct msg_bytes key; /* LIMIT_KEY_BYTES, or absent */
    int64_t starts_ms;
    int64_t ends_ms;
    int64_t kept_ms;
};

struct msg_host {
    struct msg_text name;
    struct msg_text profile;
    uint32_t suggested_max_distance_ppm;
    uint64_t messages; /* most messages that it stores; 0 when absent */
    uint64_t bytes;
    enum msg_evict evict;       /* MSG_EVICT_REJECT when absent */
    enum msg_acceptance accept; /* MSG_ACCEPT_OPEN when absent */
    int64_t accept_until_ms;    /* 0 when absent: not said */
    bool has_epoch;             /* the current one */
    struct msg_epoch epoch;
    const struct msg_text
        *here; /* here_count labels; also none if the frame had no room for them */
    size_t here_count;
};

struct msg_epoch_changed {
    struct msg_text host;
    struct msg_epoch epoch;
};

struct msg_welcome {
    uint32_t version;
    struct msg_bytes store_id;
    int64_t now_ms;
    bool clock_trusted;
    struct msg_limits limits;
    const struct msg_text *capabilities; /* capability_count of them */
    size_t capability_count;
    const struct msg_host *hosts; /* host_count of them */
    size_t host_count;
    struct msg_text agent;
    struct msg_bytes resume_token; /* or absent */
    bool has_dropped;
    struct msg_error dropped;
};

struct msg_deposited {
    int64_t deposited_ms;
    int64_t expires_ms;
    bool duplicate;
    enum msg_durability durability;
    bool held;
};

struct msg_result {
    struct msg_bytes id;
    uint64_t epoch;
    uint32_t intersection_count;
    uint32_t union_count;
    uint32_t distance_ppm;
    uint32_t estimated_similarity_ppm;
    int64_t deposited_ms;
    int64_t expires_ms;
    struct msg_text media_type; /* absent without payload */
    struct msg_bytes payload;   /* absent without payload */
    bool payload_omitted;
};

struct msg_results {
    const struct msg_result *results; /* result_count of them */
    size_t result_count;
    uint64_t comparisons;
    bool exact;
    bool capped;
};

struct msg_watching {
    uint64_t watch_id;
    uint64_t seq;
};

struct msg_match {
    uint64_t watch_id;
    uint64_t seq;
    struct msg_result result;
};

struct msg_got {
    struct msg_bytes id;
    uint64_t epoch;
    int64_t deposited_ms;
    int64_t expires_ms;
    struct msg_text media_type;
    struct msg_bytes payload;
};

struct msg_pong {
    int64_t now_ms;
    bool clock_trusted;
};

struct msg_exported_message {
    struct msg_bytes id;
    uint64_t epoch;
    struct msg_bytes filter;
    struct msg_text media_type;
    struct msg_bytes payload;
    int64_t deposited_ms;
    int64_t expires_ms;
    uint32_t reach_ppm;
    struct msg_bytes withdraw_hash;
};

struct msg_exported {
    const struct msg_exported_message *messages; /* message_count of them */
    size_t message_count;
    struct msg_bytes next;
};

struct msg_summarized {
    struct msg_bytes union_filter; /* 1 .. LIMIT_FILTER_BYTES */
    uint32_t cardinality_min;
    uint32_t cardinality_max;
    uint64_t count;
};

struct msg_figure {
    struct msg_text name; /* up to LIMIT_FIGURE_BYTES */
    int64_t value;
};

struct msg_stats_taken {
    const struct msg_figure *figures; /* figure_count of them */
    size_t figure_count;
};

struct msg_reported_message {
    struct msg_bytes id;
    uint32_t reports;
    struct msg_text media_type;
    struct msg_bytes payload;
    const struct msg_text *reasons; /* reason_count of them */
    size_t reason_count;
    bool hidden;
    bool pending;
    int64_t deposited_ms;
    int64_t expires_ms;
    bool payload_omitted;
};

struct msg_reported_list {
    const struct msg_reported_message *messages; /* message_count of them */
    size_t message_count;
    uint64_t total;
};

struct msg_ban_entry {
    struct msg_bytes payload_hash; /* this or the filter */
    struct msg_bytes filter;
    uint32_t max_distance_ppm;
    int64_t since_ms;
};

struct msg_ban_list {
    const struct msg_ban_entry *bans; /* ban_count of them */
    size_t ban_count;
    bool more;
};

struct msg_accepting {
    struct msg_text mode;
    struct msg_text source;
    int64_t until_ms; /* 0: not said */
};

struct msg_checked {
    const struct msg_text *problems; /* problem_count of them */
    size_t problem_count;
    uint64_t messages;
};

/* backed_up: bytes; compacted: before and after. */
struct msg_bytes_taken {
    uint64_t before;
    uint64_t after;
};

struct msg_log_level {
    struct msg_text level;
};

struct msg_here_labels {
    const struct msg_text *labels; /* label_count of them */
    size_t label_count;
};

struct msg_here_changed {
    struct msg_text host;
    const struct msg_text *labels; /* label_count of them */
    size_t label_count;
};

enum msg_response_kind {
    MSG_RESPONSE_UNKNOWN = 0,
    MSG_RESPONSE_ERROR,
    MSG_RESPONSE_WELCOME,
    MSG_RESPONSE_DEPOSITED,
    MSG_RESPONSE_RESULTS,
    MSG_RESPONSE_GOT,
    MSG_RESPONSE_WITHDRAWN,
    MSG_RESPONSE_PONG,
    MSG_RESPONSE_EXPORTED,
    MSG_RESPONSE_SUMMARIZED,
    MSG_RESPONSE_HERE_LABELS,
    MSG_RESPONSE_HERE_CHANGED, /* a push */
    MSG_RESPONSE_WATCHING,
    MSG_RESPONSE_UNWATCHED,
    MSG_RESPONSE_MATCH, /* a push */
    MSG_RESPONSE_REPORT_TAKEN,
    MSG_RESPONSE_STATS_TAKEN,
    MSG_RESPONSE_REMOVED,
    MSG_RESPONSE_RESTORED,
    MSG_RESPONSE_REPORTED_LIST,
    MSG_RESPONSE_BANNED,
    MSG_RESPONSE_UNBANNED,
    MSG_RESPONSE_BAN_LIST,
    MSG_RESPONSE_ACCEPTING,
    MSG_RESPONSE_CHECKED,
    MSG_RESPONSE_BACKED_UP,
    MSG_RESPONSE_COMPACTED,
    MSG_RESPONSE_RELOADED,
    MSG_RESPONSE_LOG_LEVEL_SET,
    MSG_RESPONSE_EPOCH_CHANGED /* a push */
};

struct msg_response {
    uint64_t id; /* of the request; 0: a push, or an error about the connection as a whole */
    enum msg_response_kind kind;
    union {
        struct msg_error error;
        struct msg_welcome welcome;
        struct msg_deposited deposited;
        struct msg_results results;
        struct msg_got got;
        struct msg_pong pong;
        struct msg_exported exported;
        struct msg_summarized summarized;
        struct msg_here_labels here_labels;
        struct msg_here_changed here_changed;
        struct msg_watching watching;
        struct msg_match match;
        struct msg_stats_taken stats_taken;
        struct msg_reported_list reported_list;
        struct msg_ban_list ban_list;
        struct msg_accepting accepting;
        struct msg_checked checked;
        struct msg_bytes_taken bytes_taken; /* backed_up, compacted */
        struct msg_log_level log_level;
        struct msg_epoch_changed epoch_changed;
    };
};

#endif
