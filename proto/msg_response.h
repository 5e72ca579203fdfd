/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_response: the responses of hearsay.proto as plain structs. Include proto/msg.h instead of
 * this file; proto/msg.h has the rules for absent fields and the units.
 */
#ifndef PROTO_MSG_RESPONSE_H
#define PROTO_MSG_RESPONSE_H

#include "proto/msg_base.h"
#include "proto/msg_feed.h"
#include "proto/msg_query.h"

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
    uint32_t deposits_per_minute; /* tokens that the bucket for deposits regains in a minute; 0
                                   * (absent): no limit */
    uint32_t queries_per_minute;
    uint32_t deposit_burst;
    uint32_t query_burst;
    uint32_t sessions;
    uint32_t sessions_per_address; /* 0 when absent: no limit */
    uint64_t session_output_bytes;
    uint64_t messages;
    uint64_t bytes;
    uint32_t sender_share_ppm;    /* 1,000,000 when absent */
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
    const struct msg_text *here; /* here_count labels of the access point's surroundings. The server
                                  * sends none if they do not fit in the frame */
    size_t here_count;
    enum msg_role role;   /* MSG_ROLE_OWNER when absent */
    struct msg_text hood; /* or absent */
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
    bool without_here;
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

struct msg_exported {
    const struct msg_exported_message *messages; /* message_count of them */
    size_t message_count;
    struct msg_bytes next;
};

struct msg_summary_group {
    struct msg_bytes union_filter; /* 1 .. LIMIT_FILTER_BYTES */
    uint32_t least[LIMIT_SECTIONS];
    uint32_t least_count;
    uint32_t most[LIMIT_SECTIONS];
    uint32_t most_count;
    uint64_t count;
    int64_t newest_ms;
};

struct msg_summarized {
    struct msg_bytes union_filter; /* 1 .. LIMIT_FILTER_BYTES */
    uint32_t cardinality_min;
    uint32_t cardinality_max;
    uint64_t count;
    uint64_t seq;                           /* 0 without groups in the request */
    const struct msg_summary_group *groups; /* group_count of them */
    size_t group_count;
};

struct msg_figure {
    struct msg_text name; /* up to LIMIT_FIGURE_BYTES */
    int64_t value;
};

struct msg_stats_taken {
    const struct msg_figure *figures; /* figure_count of them */
    size_t figure_count;
};

struct msg_removed {
    int64_t destroyed_ms; /* 0: the message is destroyed */
};

struct msg_restored {
    struct msg_bytes banned_hash; /* LIMIT_HASH_BYTES, or absent */
};

struct msg_report_reason {
    enum msg_report_kind kind;
    struct msg_text text; /* absent: none */
};

struct msg_reported_message {
    struct msg_bytes id;
    uint32_t reports;
    struct msg_text media_type;
    struct msg_bytes payload;
    const struct msg_report_reason *reasons; /* reason_count of them */
    size_t reason_count;
    bool hidden;
    bool pending;
    int64_t deposited_ms;
    int64_t expires_ms;
    bool payload_omitted;
    int64_t destroyed_ms; /* 0: the message was not removed */
};

struct msg_reported_list {
    const struct msg_reported_message *messages; /* message_count of them */
    size_t message_count;
    uint64_t total;
    struct msg_bytes next;     /* absent: none */
    struct msg_bytes previous; /* absent: none */
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

struct msg_decision {
    uint64_t number;
    int64_t time_ms;
    struct msg_text act;
    struct msg_bytes id;       /* or absent */
    enum msg_report_kind kind; /* 0: not said */
    uint32_t reports;
    struct msg_text reason; /* or absent */
    uint32_t uid;
    bool web;
};

struct msg_decision_list {
    const struct msg_decision *decisions; /* decision_count of them */
    size_t decision_count;
    bool more;
};

struct msg_similar_group {
    struct msg_bytes oldest;
    int64_t oldest_ms;
    struct msg_bytes newest;
    int64_t newest_ms;
    uint64_t count;
    uint64_t epoch;
};

struct msg_similar_list {
    const struct msg_similar_group *groups; /* group_count of them */
    size_t group_count;
    uint64_t total;
    uint64_t messages;
};

struct msg_waited {
    struct msg_bytes id;
    enum msg_report_kind kind; /* 0: not said */
    bool pending;
    uint64_t count;
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

/*
 * The body of a Compacted response, and of a BackedUp response, whose field `bytes` is `after`
 * here.
 */
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

struct msg_accept_changed {
    struct msg_text host;
    enum msg_acceptance accept;
    int64_t accept_until_ms; /* 0: not said */
};

/* The body of a NoticesChanged push, and of a Noticed response, which has no host. */
struct msg_notices {
    struct msg_text host;
    const struct msg_house_notice *notices; /* notice_count of them */
    size_t notice_count;
};

/* A push to a bridge. */
struct msg_ask {
    uint64_t ask_id;
    struct msg_query query;
    uint32_t peers_max;
};

struct msg_changed {
    const struct msg_change *changes; /* change_count of them */
    size_t change_count;
    uint64_t next;
    bool more;
    uint32_t waiting;         /* 0 when absent */
    int64_t waiting_since_ms; /* 0 when absent */
};

struct msg_applied {
    uint32_t changed;
    uint32_t conflicts;
    uint32_t no_room;
    uint32_t not_kept;
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
    MSG_RESPONSE_EPOCH_CHANGED,  /* a push */
    MSG_RESPONSE_ACCEPT_CHANGED, /* a push */
    MSG_RESPONSE_HIDDEN,
    MSG_RESPONSE_DECISION_LIST,
    MSG_RESPONSE_WAITED,
    MSG_RESPONSE_NOTICED,
    MSG_RESPONSE_SIMILAR_LIST,
    MSG_RESPONSE_NOTICES_CHANGED, /* a push */
    MSG_RESPONSE_ASK,             /* a push */
    MSG_RESPONSE_SERVING,
    MSG_RESPONSE_ANSWER_TAKEN,
    MSG_RESPONSE_CHANGED,
    MSG_RESPONSE_APPLIED
};

struct msg_response {
    uint64_t id; /* the id of the request that this response answers; 0: a push, or an error about
                  * the whole connection */
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
        struct msg_removed removed;
        struct msg_restored restored;
        struct msg_reported_list reported_list;
        struct msg_decision_list decision_list;
        struct msg_waited waited;
        struct msg_similar_list similar_list;
        struct msg_ban_list ban_list;
        struct msg_accepting accepting;
        struct msg_checked checked;
        struct msg_bytes_taken bytes_taken; /* backed_up, compacted */
        struct msg_log_level log_level;
        struct msg_epoch_changed epoch_changed;
        struct msg_accept_changed accept_changed;
        struct msg_notices notices; /* noticed, notices_changed */
        struct msg_ask ask;
        struct msg_changed changed;
        struct msg_applied applied;
    };
};

#endif
