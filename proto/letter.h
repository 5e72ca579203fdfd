/* SPDX-License-Identifier: Apache-2.0 */
/* letter: what bridges say to one another, as plain structs. bridge.proto says what each field
 * means; msg.h has the rules. */
#ifndef PROTO_LETTER_H
#define PROTO_LETTER_H

#include "proto/msg.h"

enum { LETTER_VERSION = 1 };

enum msg_page_kind { MSG_PAGE_STATES = 1, MSG_PAGE_WORDS = 2, MSG_PAGE_DIGEST = 3 };

struct msg_head {
    struct msg_bytes store_id;
    uint64_t seq;
    struct msg_text profile;
    int64_t as_of_ms;
    bool is_taken;
    uint64_t term;
};

struct msg_page_ask {
    enum msg_page_kind kind;
    uint64_t after;
    uint32_t limit; /* 0: not said */
    int64_t deposited_before_ms;
    int64_t expires_after_ms;
    struct msg_text reader; /* absent: each may answer */
};

struct msg_page {
    const struct msg_change *changes;
    size_t change_count;
    uint64_t next;
    bool more;
    uint64_t count;
    uint64_t digest;
};

struct msg_peer_summary {
    struct msg_bytes store_id;
    uint64_t seq;
    uint64_t after;
    int64_t as_of_ms;
    int64_t newest_ms; /* INT64_MIN: there is none */
    bool full;
    struct msg_text profile;
    const struct msg_summary_group *groups; /* group_count of them */
    size_t group_count;
};

struct msg_summary_ask {
    struct msg_text host; /* absent: all */
};

struct msg_peer_query {
    struct msg_query query;
};

struct msg_peer_results {
    struct msg_bytes store_id;
    uint64_t seq;
    bool has_results;
    struct msg_results results;
};

enum msg_letter_kind {
    MSG_LETTER_UNKNOWN, /* of a later version, or without a body */
    MSG_LETTER_HEAD,
    MSG_LETTER_CHANGE,
    MSG_LETTER_PAGE_ASK,
    MSG_LETTER_PAGE,
    MSG_LETTER_PEER_SUMMARY,
    MSG_LETTER_PEER_QUERY,
    MSG_LETTER_PEER_RESULTS,
    MSG_LETTER_SUMMARY_ASK
};

struct msg_letter {
    enum msg_letter_kind kind;
    union {
        struct msg_head head;
        struct msg_change change;
        struct msg_page_ask page_ask;
        struct msg_page page;
        struct msg_peer_summary peer_summary;
        struct msg_peer_query peer_query;
        struct msg_peer_results peer_results;
        struct msg_summary_ask summary_ask;
    };
};

#endif
