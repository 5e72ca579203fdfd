/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_feed: what requests and responses say of the messages and rules of a host: Export, Changes
 * and Apply. Include proto/msg.h.
 */
#ifndef PROTO_MSG_FEED_H
#define PROTO_MSG_FEED_H

#include "proto/msg_base.h"

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
    uint32_t state; /* this and `reports`: in a Change only */
    uint32_t reports;
};

struct msg_gone {
    struct msg_bytes id;
    int64_t until_ms;
    enum msg_why why;
};

struct msg_rule_state {
    uint32_t kind;
    struct msg_bytes value; /* up to LIMIT_RULE_BYTES; or absent */
    uint32_t number;
    int64_t created_ms;
    bool dropped;
    int64_t until_ms; /* 0: the rule has no end */
};

/* Names a decision of an operator at a copy. */
struct msg_decision_id {
    struct msg_bytes store_id; /* LIMIT_ID_BYTES */
    uint64_t number;
    int64_t time_ms; /* 0 when absent */
};

/* A change that is read from bytes may have none or several of the three; the reader checks. */
struct msg_change {
    uint64_t seq;
    bool has_message;
    bool has_gone;
    bool has_rule;
    bool has_decision; /* beside one of the three */
    struct msg_exported_message message;
    struct msg_gone gone;
    struct msg_rule_state rule;
    struct msg_decision_id decision;
};

#endif
