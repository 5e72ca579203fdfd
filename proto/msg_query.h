/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_query: a query and its results as plain structs. Requests and responses both have them: a
 * server asks a bridge, and the bridge answers by a request. Include proto/msg.h instead of this
 * file.
 */
#ifndef PROTO_MSG_QUERY_H
#define PROTO_MSG_QUERY_H

#include "proto/msg_base.h"

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
    enum msg_metric metric;    /* MSG_METRIC_DEFAULT when absent */
    enum msg_order order;
    const struct msg_slice *exclude; /* exclude_count of them */
    size_t exclude_count;
    bool with_payload;
    enum msg_scope scope;      /* MSG_SCOPE_HERE when absent */
    uint32_t wait_ms;          /* LIMIT_WAIT_MS_DEFAULT when absent */
    uint64_t max_staleness_ms; /* UINT64_MAX when absent */
    uint32_t floor;            /* in units of 2^-24, at most LIMIT_FLOOR; 0: no floor */
};

struct msg_result {
    struct msg_bytes id;
    uint64_t epoch;
    uint32_t intersection_count;
    uint32_t union_count;
    uint32_t distance_ppm;
    int64_t deposited_ms;
    int64_t expires_ms;
    struct msg_text media_type; /* absent without payload */
    struct msg_bytes payload;   /* absent without payload */
    bool payload_omitted;
    struct msg_text host;    /* absent unless the scope is MSG_SCOPE_HOOD */
    struct msg_bytes filter; /* absent unless the client is a bridge */
};

struct msg_house_notice {
    uint32_t number;
    struct msg_text text;
    struct msg_text lang; /* or absent */
    int64_t since_ms;
    int64_t until_ms; /* 0: not said */
};

struct msg_results {
    const struct msg_result *results; /* result_count of them */
    size_t result_count;
    uint64_t comparisons;
    bool exact;
    bool capped;
    const struct msg_house_notice *notices; /* notice_count of them */
    size_t notice_count;
    bool complete;  /* no host is missing, nor a part of its messages; see hearsay.proto */
    uint32_t peers; /* this and the next four: with MSG_SCOPE_HOOD only, else 0 */
    uint32_t peers_asked;
    uint32_t peers_silent;
    uint32_t peers_other;
    int64_t as_of_ms;
    uint64_t seq;           /* to a bridge only, else 0 */
    bool bridge_away;       /* this and the next one: with MSG_SCOPE_HOOD only */
    uint32_t peers_skipped; /* of `peers`: more than a bridge can ask */
};

#endif
