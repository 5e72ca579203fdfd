/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_persist_inner: what the files of fake_persist share, and nobody else.
 */
#pragma once

#include "tests/lib/fake_persist.h"

enum {
    FAKE_MESSAGES_MAX = 4096,
    FAKE_CONTENT_MAX = 2048,
    FAKE_RULES_MAX = 64,
    FAKE_WORDS_MAX = PERSIST_REASONS_KEPT * (PERSIST_WORDS_BYTES_MAX + 1),
    FAKE_EPOCHS_MAX = 256,
    FAKE_EVICTED_MAX = 256,
    FAKE_HOSTS_MAX = 8
};

struct fake_message {
    struct persist_message message;
    uint8_t content[FAKE_CONTENT_MAX]; /* what the message points to */
    int64_t seq;                       /* grows with each deposit: the position of pages */
    bool withdrawn;
    bool removed;                   /* withdrawn, and by the operator */
    int64_t change_seq;             /* of its latest change, if it is not `seq`; else 0 */
    enum persist_why why;           /* of a mark that others are told of */
    char words[FAKE_WORDS_MAX + 1]; /* of the latest reports, each with its newline */
};

struct fake_rule {
    struct persist_rule rule;
    uint8_t value[PERSIST_RULE_BYTES_MAX];
};

struct fake {
    struct persist persist;
    struct fake_message *messages;
    size_t count;
    struct persist_epoch epochs[FAKE_EPOCHS_MAX];
    size_t epoch_count;
    struct fake_rule rules[FAKE_RULES_MAX];
    size_t rule_count;
    struct persist_change evicted[FAKE_EVICTED_MAX]; /* what others are told of */
    size_t evicted_count;
    uint32_t replicating[FAKE_HOSTS_MAX];
    size_t replicating_count;
    struct persist_op *first_op;
    struct persist_op **last_op;
    struct persist_read *first_read; /* that wait */
    struct persist_read **last_read;
    struct persist_read *first_carried; /* that are carried out and not answered */
    struct persist_read **last_carried;
    int64_t last_seq;
    uint64_t operations;
    struct persist_job *job;
    bool fail_next;
    bool fail_reads;
    const char *stored_profile; /* NULL: the right one */
    int fail_add_host;
    int fail_replay;
    const char *start_reason;
    int64_t clock_ms;
    int64_t shift_from_ms;
};

struct fake *fake_of(const struct persist *persist);

/* The message, withdrawn or not; NULL: there is none. */
struct fake_message *fake_find(struct fake *fake, uint32_t host, const uint8_t *id);

/* Bytes of filter, media type and payload. */
size_t fake_content_bytes(const struct persist_message *message);

/* Copies a message; what it points to goes to `content`, FAKE_CONTENT_MAX bytes. */
void fake_copy_message(const struct persist_message *message, uint8_t *content,
                       struct persist_message *out);

/* The same content: epoch, reach, withdraw hash, parent, filter, media type and payload. */
bool fake_same_content(const struct persist_message *a, const struct persist_message *b);

/* Stores a message in a place, as a deposit does. */
struct fake_message *fake_put(struct fake *fake, struct persist_message *message);

/* Takes a message or a mark out. The last one comes in its place. */
void fake_drop(struct fake *fake, struct fake_message *stored);

struct fake_rule *fake_find_rule(struct fake *fake, const struct persist_rule *rule);
enum persist_outcome fake_put_rule(struct fake *fake, const struct persist_rule *rule);

/* fake_persist_feed.c: PERSIST_REPLICATE and PERSIST_APPLY; and after each applied operation. */
enum persist_outcome fake_replicate(struct fake *fake, const struct persist_op *op);
enum persist_outcome fake_apply_state(struct fake *fake, struct persist_op *op);
bool fake_replicates(const struct fake *fake, uint32_t host);
void fake_note_change(struct fake *fake, struct persist_op *op);
void fake_read_changes(struct fake *fake, struct persist_read *read);

/* Memory for the content of one message or rule. It is freed when the read is released. */
uint8_t *fake_read_room(struct persist_read *read);

/* Carries out one operation. */
enum persist_outcome fake_apply(struct fake *fake, struct persist_op *op);

/* Stores an epoch. */
void fake_put_epoch(struct fake *fake, const struct persist_epoch *epoch);

/* Functions of the interface that read. */
void fake_read(struct persist *persist, struct persist_read *read);
void fake_read_release(struct persist *persist, struct persist_read *read);
