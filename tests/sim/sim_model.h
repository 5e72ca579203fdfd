/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_model: what a store of messages should do, as plainly as it can be said: a list of messages
 * that is gone through for each question. It knows docs/protocol.md and docs/operations/, and
 * nothing of indexes, caches, handlers or sessions.
 *
 * The world tells it what is asked, what the store has committed, and what time it is, in the order
 * in which that happens; it says what the answer must be.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/store/persist.h"
#include "proto/msg.h"

enum {
    M_HOSTS = 2,
    M_FILTER_BYTES = 64,
    M_MESSAGES = 4096, /* that ever were, in one world */
    M_EPOCHS = 64,     /* of one host that ever were */
    M_BANS = 64,
    M_TOMBSTONES = 2048,
    M_PARTS = 3,
    M_RESULTS = 16,
    M_SENDERS = 8, /* addresses; 0: exempt */
    M_REASONS = 16,
    M_REASON_GRAVE = 3, /* the number of the reason whose kind is ABOUT_ME */
    M_OWN = 63,
    M_REPORTERS = 4096,
    M_ALL = INT32_MAX, /* the sender of hides of all senders together */
    M_PENDING = 512
};

/* One deposit that was taken, also when its message has gone since. */
struct m_message {
    uint32_t host;
    uint8_t id[MESSAGE_ID_BYTES];
    uint64_t epoch;
    uint8_t filter[M_FILTER_BYTES];
    uint32_t payload; /* number of its text */
    int64_t deposited_ms;
    int64_t expires_ms;
    uint32_t reach_ppm;
    uint32_t sender; /* 0: exempt */
    bool can_withdraw;
    uint32_t token; /* number */

    int64_t seq;  /* its place in the order in which messages were shown */
    bool stored;  /* the store has it */
    bool removed; /* by the operator */
    bool served;  /* the service has it: it counts, and is found if it is shown */
    bool shown;   /* to whom it fits */
    enum persist_state state;
    uint32_t reports;
    uint32_t reporting;          /* that are on their way to the store */
    uint32_t uncounted;          /* of both, those that do not count for hide_after */
    uint32_t own;                /* of these, those of its own sender */
    uint32_t grave;              /* of kinds that cannot wait, without own ones */
    bool is_beyond;              /* only a bound keeps it shown */
    bool is_hiding;              /* one that hides it is on its way */
    bool looked_at;              /* something is known of it besides: reports, or a decision */
    uint32_t reasons[M_REASONS]; /* numbers of texts; 0: none, oldest first */
    uint32_t reason_count;
    bool was_hidden;   /* after it had been shown */
    uint32_t moved;    /* the last of model.shifts that moved its times */
    uint64_t share_at; /* its place among those of its sender; 0: it counts for nobody */
    bool leaving;      /* of these, one that is to go for another one */
};

struct m_epoch {
    uint64_t number;
    int64_t starts_ms, ends_ms, kept_ms;
    bool stored, over;
    uint8_t key[LIMIT_KEY_BYTES];
};

struct m_ban {
    bool is_payload;
    uint8_t value[M_FILTER_BYTES];
    uint32_t max_distance_ppm;
    int64_t since_ms;
};

struct m_host {
    const struct config_host *config;
    uint32_t filter_bytes;
    struct m_epoch epochs[M_EPOCHS]; /* in order of their beginning, also those that are gone */
    uint32_t epoch_count;
    uint32_t current;          /* place of the current one + 1; 0: none */
    bool beginning;            /* one is on its way to the store */
    struct m_ban bans[M_BANS]; /* in order of their coming */
    uint32_t ban_count;
    bool has_mode; /* the operator has decided */
    enum accept mode;
};

struct m_tombstone {
    uint32_t host;
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t expires_ms;
};

/* A deposit on its way to the store: it counts, and so does what has been promised to go for it. */
struct m_waiting {
    const void *owner;
    uint32_t host;
    uint64_t bytes;
    uint64_t need_messages, need_bytes;
    uint64_t own_messages, own_bytes; /* of its sender, that go for it, too: own_count of them */
    uint32_t own_count;
    uint8_t own_ids[M_OWN][MESSAGE_ID_BYTES];
    bool is_shared; /* it counts for its sender */
};

struct m_bucket {
    int64_t tokens; /* in 1/60000 */
    int64_t at_ms;
};

struct model {
    const struct config *config;
    /* The clock, see daemon/host/clock.h. */
    int64_t now_ms, wall_ms, monotonic_ms, steady_since_ms;
    bool synchronised, clock_waits;
    /* What was deposited from shift_from_ms on moves when the clock is set; `holds`: there is some.
     * shift_saved_ms: what the store knows of it. */
    int64_t shift_from_ms, shift_saved_ms;
    bool holds;
    uint32_t shifts; /* how often */
    struct m_host hosts[M_HOSTS];
    struct m_message *messages; /* message_count of them */
    uint32_t message_count;
    struct m_tombstone tombstones[M_TOMBSTONES];
    uint32_t tombstone_count;
    int64_t seq;    /* the newest that was given */
    int64_t newest; /* ... as the service knows */
    struct m_waiting waiting[M_PENDING];
    uint32_t waiting_count;
    struct m_bucket buckets[M_SENDERS][2]; /* deposits, queries */
    uint32_t connections[M_SENDERS];
    struct {
        uint8_t id[MESSAGE_ID_BYTES];
        uint32_t host, sender;
    } reporters[M_REPORTERS];
    uint32_t reporter_count;
    struct {
        uint32_t host, sender;
        int64_t at_ms;
    } hides[2 * M_REPORTERS]; /* reports that counted, and by M_ALL what they have hidden */
    uint32_t hide_count;
    uint64_t shared;  /* messages that were counted for senders so far */
    int64_t saved_ms; /* the clock is at least this after a restart */
};

/* A query, or what a watch asks. */
struct m_part {
    uint64_t epoch;
    uint8_t filter[M_FILTER_BYTES];
    bool has_contains;
    uint8_t contains[M_FILTER_BYTES];
};

struct m_query {
    uint32_t host;
    uint32_t k;
    uint32_t part_count;
    struct m_part parts[M_PARTS];
    uint32_t max_distance_ppm;
    int64_t since_ms, until_ms;
    enum hearsay_order order;
    bool with_payload;
    bool is_hood;
    uint8_t exclude[64]; /* one slice; exclude_bytes 0: none */
    uint32_t exclude_bytes, exclude_hashes;
    uint64_t exclude_seed;
};

struct m_result {
    uint32_t message; /* its number */
    uint32_t both, either;
    uint32_t part; /* the nearest */
};

void model_init(struct model *model, const struct config *config);
void model_deinit(struct model *model);

/* --- time: sim_model.c ------------------------------------------------------------------------ */

/* The system's clocks show this now. */
/* How far the clock is to be set forward, with messages; 0: not at all. */
int64_t model_due_ms(const struct model *model);

/* The clock is set forward, from before_ms, and messages move with it: in the store and in memory.
 */
void model_shift(struct model *model, int64_t before_ms, int64_t by_ms);

/* After a start: whether there is anything that moves. */
void model_loaded(struct model *model);

void model_tick(struct model *model, int64_t wall_ms, int64_t monotonic_ms, bool synchronised);
bool model_clock_trusted(const struct model *model);

/* The service starts, with what the store has; its clock had been saved at saved_ms. */
void model_start(struct model *model, int64_t saved_ms, int64_t wall_ms, int64_t monotonic_ms,
                 bool synchronised);

/* --- messages --------------------------------------------------------------------------------- */

uint32_t m_bits(const uint8_t *a, const uint8_t *b, uint32_t count, bool either);
uint32_t m_bytes(const struct model *model, const struct m_message *message);
uint32_t m_payload_bytes(uint32_t payload);
const char *m_payload_text(uint32_t payload); /* static until the next call */

/* NULL: there is none. */
struct m_message *m_stored(struct model *model, uint32_t host, const uint8_t *id);
/* Whether the operator has removed the message of this id, which the service does not serve any
 * more and which has not expired. */
bool m_removed(const struct model *model, uint32_t host, const uint8_t *id);
struct m_message *m_served(struct model *model, uint32_t host, const uint8_t *id);
bool m_visible(const struct model *model, const struct m_message *message);
struct m_epoch *m_epoch(struct model *model, uint32_t host, uint64_t number); /* not over */

/* Counted against the caps, of one host or (host M_HOSTS) of all; what is waiting included. */
void m_usage(const struct model *model, uint32_t host, uint64_t *out_messages, uint64_t *out_bytes);

/*
 * 0: there is room for a deposit, for which its sender's own messages go; 1: when its need_messages
 * and need_bytes, which are filled, go besides; 2: there is none.
 */
int m_room(const struct model *model, struct m_waiting *asked);

/* Out of service, as after an expiry: whatever is known under this id. */
void m_forget(struct model *model, uint32_t host, const uint8_t *id);

/* --- what each sender has --- */

/* Counts a message as the newest of its sender; false: of nobody, or its id is counted already. */
bool m_share_add(struct model *model, struct m_message *message);
void m_share_remove(struct model *model, uint32_t host, const uint8_t *id);

/* Chooses own messages of the sender that go for the one that waits; false: it is refused. */
bool m_share_room(struct model *model, uint32_t sender, bool may_evict, struct m_waiting *waiting);

/* These do not go, or have gone. */
void m_share_release(struct model *model, const struct m_waiting *waiting);

/* --- rules ------------------------------------------------------------------------------------ */

enum accept m_accept(const struct model *model, uint32_t host, const char **out_source,
                     int64_t *out_until_ms);
/* 0: not banned, 1: its payload, 2: its filter, 3: both. */
int m_banned(const struct model *model, uint32_t host, const uint8_t *filter, uint32_t payload);
void m_put_ban(struct m_host *host, const struct m_ban *ban);
bool m_drop_ban(struct m_host *host, const struct m_ban *ban);
void m_payload_hash(uint32_t payload, uint8_t *out);

/* Takes tokens: 0, or how long to wait (docs/protocol.md, Rates). */
uint64_t m_take_tokens(struct model *model, uint32_t sender, bool is_deposit, uint32_t cost);

/* Whether a sender has the token for a page that a watch catches up with, and a quarter of its
 * burst besides. Nothing is taken. */
bool m_may_read_page(struct model *model, uint32_t sender);

/* --- the store: sim_store_model.c ------------------------------------------------------------- */

/* What the store must say to an operation, and what follows from it for the store alone. */
enum persist_outcome m_deposit(struct model *model, struct m_message *message,
                               const struct persist_op *op, uint32_t *out_evicted,
                               uint32_t *out_evicted_count, struct m_message **out_there);
enum persist_outcome m_withdraw(struct model *model, uint32_t host, const uint8_t *id,
                                uint32_t token, int64_t now_ms);
enum persist_outcome m_remove(struct model *model, uint32_t host, const uint8_t *id, bool ban,
                              int64_t now_ms);
/* reason: number of a text, or 0. */
enum persist_outcome m_moderate(struct model *model, uint32_t host, const uint8_t *id,
                                int64_t deposited_ms, enum persist_state state, uint32_t reports,
                                uint32_t reason, int64_t now_ms, int64_t *out_shown_seq);
/* How many messages go. */
uint32_t m_expire(struct model *model, int64_t now_ms);

/* --- answers: sim_query_model.c --------------------------------------------------------------- */

/* How many results, in the answer's order; whether a sender's cap has changed them. */
uint32_t m_find(const struct model *model, const struct m_query *query, struct m_result *out,
                bool *out_capped);

/* Whether a query of the hood of `host` also looks at the messages of `other` in epoch 0. */
bool m_is_peer(const struct model *model, uint32_t host, uint32_t other);

/* Whether a message fits a query, whatever k and the others are: *out is by which part. */
bool m_fits(const struct model *model, const struct m_query *query, uint32_t message,
            struct m_result *out);

uint32_t m_distance_ppm(uint32_t both, uint32_t either);
