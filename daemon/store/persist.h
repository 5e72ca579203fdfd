/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist: the interface of storage, where messages survive a restart. SQLite implements it
 * (sqlite.h); a replicated log may implement it later.
 *
 * Writing. The caller submits operations: deposit, withdraw, expire, moderate and so on. An
 * operation carries the time and everything else it needs. It is idempotent: done twice, it has the
 * effect of once. The store applies operations in the order of submission. Operations queue up
 * while a commit runs; the next commit takes all of them. After that commit the store calls the
 * `done` of each operation, in order, with its outcome. The store decides what is a duplicate. The
 * caller changes its index and answers its client in `done`, never before.
 *
 * Threads. All functions are called on the loop thread, and all callbacks run there. A callback
 * never runs before the function that asked for it has returned.
 */
#ifndef DAEMON_STORE_PERSIST_H
#define DAEMON_STORE_PERSIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/index/nearest.h"
#include "proto/limits.h"

enum {
    PERSIST_STORE_ID_BYTES = 16,
    PERSIST_REASON_BYTES = 512,
    PERSIST_REASONS_KEPT = 8 /* the store keeps the latest 8 reasons of the reports of a message */
};

/* Whether readers see a message. From PERSIST_HIDDEN on nobody does. Stored as numbers. */
enum persist_state {
    PERSIST_SHOWN = 0,
    PERSIST_APPROVED = 1, /* shown by decision of the operator: reports cannot hide it any more */
    PERSIST_HIDDEN = 2,   /* reports have hidden it */
    PERSIST_PENDING = 3   /* it waits for review */
};

/* A message as stored. Pointers are borrowed; each use says for how long. */
struct persist_message {
    uint32_t host; /* number from persist_add_host */
    uint8_t id[MESSAGE_ID_BYTES];
    uint64_t epoch;
    const uint8_t *filter; /* stored form */
    size_t filter_bytes;
    const char *media_type; /* UTF-8, not terminated */
    size_t media_type_bytes;
    const uint8_t *payload;
    size_t payload_bytes;
    int64_t deposited_ms;
    int64_t expires_ms;
    uint32_t reach_ppm;
    bool can_withdraw; /* withdraw_hash is set */
    uint8_t withdraw_hash[LIMIT_HASH_BYTES];
    /* The number of the message in the store, from 1 on; pages are in the order of these numbers.
       A new deposit takes the next number. A message that becomes visible takes a new number, too.
       The store sets seq in what it reads, and in a deposit or moderation that was applied. */
    int64_t seq;
    uint32_t sender; /* who deposited it; in memory only: 0 in a message read from the store */
    enum persist_state state; /* deposit: SHOWN or PENDING */
    uint32_t reports;         /* by different senders */
};

/* What kind of decision a rule is. Stored as numbers. */
enum persist_rule_kind {
    PERSIST_BAN_PAYLOAD = 1, /* value: BLAKE2b-256 of a payload that is refused */
    PERSIST_BAN_FILTER = 2,  /* value: a filter that is refused, and every filter within the
                                distance `number` of it */
    PERSIST_ACCEPT = 3       /* value: empty; number: which deposits are accepted (enum accept) */
};

/*
 * A decision of the operator for a whole host. There is at most one rule of the same host, kind and
 * value.
 */
struct persist_rule {
    uint32_t host;
    enum persist_rule_kind kind;
    const uint8_t *value; /* not NULL */
    size_t value_bytes;   /* at most LIMIT_FILTER_BYTES */
    uint32_t number;
    int64_t created_ms;
};

/* An interval of a host with a key of its own. */
struct persist_epoch {
    uint32_t host;
    uint64_t number; /* not 0; grows from one epoch of the host to the next */
    int64_t starts_ms;
    int64_t ends_ms;
    int64_t kept_ms; /* at this time the store deletes the epoch, its key and all its messages */
    uint8_t key[LIMIT_KEY_BYTES];
};

/* --- writing ---------------------------------------------------------------------------------- */

enum persist_kind {
    /* Stores `message`. Replaces one of the same id that has expired by now_ms. */
    PERSIST_DEPOSIT,
    /* Deletes message.host, message.id, if message.withdraw_hash is the hash that was deposited. */
    PERSIST_WITHDRAW,
    /* Deletes at most `limit` messages and `limit` tombstones that have expired by now_ms, and all
       epochs whose kept_ms has come. */
    PERSIST_EXPIRE,
    /* Stores *epoch. */
    PERSIST_EPOCH,
    /* Makes a host of host_name and host_profile; message.host is its number afterwards. CONFLICT:
       the store has a host of that name. */
    PERSIST_HOST,
    /* Deletes message.host, message.id as a withdrawal does, without a token. With a rule of kind
       PERSIST_BAN_PAYLOAD the store bans the payload of the message, too. */
    PERSIST_REMOVE,
    /* Changes the state or the reports of one stored message, which message.host, message.id and
       message.deposited_ms name.
       message.reports is 0: sets the state to message.state.
       message.reports is more: raises the stored number of reports to this number, and keeps
       `words` if the number rose. If message.state is HIDDEN, a message that was SHOWN becomes
       HIDDEN.
       Afterwards message.state and message.reports are the stored ones. A message that becomes
       visible takes a new number: shown_seq. */
    PERSIST_MODERATE,
    /* Stores *rule, in place of an older one. */
    PERSIST_RULE_PUT,
    /* Deletes the rule of rule->host, kind and value. */
    PERSIST_RULE_DROP,
    /* Saves now_ms and does nothing else. Every operation that changes something saves now_ms. */
    PERSIST_CLOCK,
    /* Fills `tallies` with the state after all operations before this one. With tally_count 0 it
       only takes its turn. O(messages): other operations wait meanwhile. */
    PERSIST_TALLY
};

/* Counts and sums over the messages of one epoch of a host. */
struct persist_tally {
    uint32_t host;  /* asked for; epoch 0 of a host stands before its other epochs */
    uint64_t epoch; /* asked for */
    uint64_t shown;
    uint64_t shown_bytes; /* bytes that count against the caps of messages */
    uint64_t hidden;      /* epoch 0 also counts the hidden messages of epochs not asked for */
    uint64_t hidden_bytes;
    uint64_t strays;                   /* epoch 0: shown messages of epochs not asked for */
    uint8_t whole[LIMIT_FILTER_BYTES]; /* OR of the filters of the shown messages */
    uint32_t low;                      /* least cardinality of these filters; 0: no message */
    uint32_t high;                     /* greatest cardinality of these filters */
};

/* Which messages of the host a deposit evicts. */
enum persist_evict { PERSIST_EVICT_NONE, PERSIST_EVICT_OLDEST, PERSIST_EVICT_SOONEST };

enum persist_outcome {
    PERSIST_APPLIED,   /* done, and on storage as far as the durability promises */
    PERSIST_DUPLICATE, /* deposit: the same message is there; op->message gets its times */
    PERSIST_CONFLICT,  /* deposit: the id is there with other content */
    PERSIST_GONE,      /* deposit: the id was withdrawn; refused until it would have expired */
    PERSIST_FULL,      /* deposit: evicting `limit` messages would not be enough */
    PERSIST_NO_SPACE,  /* deposit: the storage that is left is reserved for deleting */
    PERSIST_NOT_FOUND, /* withdraw, remove, moderate: no such message; rule drop: no such rule */
    PERSIST_FORBIDDEN, /* withdraw: another token, or none was deposited */
    PERSIST_FAILED     /* storage failed: nothing of this operation happened; op->reason says why */
};

/* A message that an expiry or a deposit deleted. */
struct persist_removed {
    uint32_t host;
    uint64_t epoch;
    uint8_t id[MESSAGE_ID_BYTES];
};

enum { PERSIST_EXPIRE_MAX = 256 };

/*
 * One operation. The caller fills it and submits it. The operation, and all that it points to, must
 * stay in place until the store calls `done`; then the memory is the caller's again.
 */
struct persist_op {
    enum persist_kind kind;
    struct persist_message message;
    int64_t now_ms; /* the host's clock; never runs backwards from one operation to the next */
    /* Deposit: the ids of messages of its host that the store deletes if it stores the deposit:
       chosen_count ids, one after the other. NULL: none. An id that is not there, and the id of the
       deposit itself, are skipped. */
    const uint8_t *chosen;
    uint32_t chosen_count; /* at most `limit` */
    /* Deposit: besides these, the store deletes messages of the host in this order, until it has
       deleted evict_messages of them, with evict_bytes of filters, media types and payloads. */
    enum persist_evict evict;
    uint64_t evict_messages;
    uint64_t evict_bytes;
    const struct persist_epoch *epoch; /* epoch */
    const char *host_name;             /* host */
    const char *host_profile;          /* host: its text */
    void (*done)(struct persist_op *op);
    /* Rule put, rule drop; remove (NULL: nothing is banned). For a removal the store finds the
       value of the rule: the hash of the payload, see payload_hash. */
    struct persist_rule *rule;
    struct persist_tally *tallies; /* tally: tally_count of them */
    size_t tally_count;
    const char *words; /* moderate: a reason, a line of UTF-8, not terminated; may be NULL */
    size_t words_bytes;

    /* The store fills these before `done`. */
    enum persist_outcome outcome;
    const char *reason; /* PERSIST_FAILED: a sentence; static, or valid until `done` returns */
    /* Expire, and a deposit that deletes others: which messages were deleted. The caller gives room
       for `limit` (1 .. PERSIST_EXPIRE_MAX); the store does not delete more. For an expiry the
       store may lower `limit` while the storage is full. After an expiry removed_count < limit
       means that no more messages have expired. */
    struct persist_removed *removed;
    uint32_t limit;
    uint32_t removed_count;
    uint8_t payload_hash[LIMIT_HASH_BYTES]; /* remove with a rule: what is banned now */
    int64_t shown_seq; /* moderate: the new number if the message became visible, else 0 */

    struct persist_op *next; /* the store's, while it has the operation */
};

/* --- reading ---------------------------------------------------------------------------------- */

enum persist_read_kind {
    PERSIST_READ_PAYLOADS, /* the messages of the ids asked for, hidden or not */
    PERSIST_READ_REPORTED, /* the same, with the reasons of their reports */
    PERSIST_READ_PAGE,     /* whole messages of one host in the order of seq, without hidden ones */
    PERSIST_READ_CHECK     /* messages of all hosts in the order of seq, hidden or not, without
                              payloads and media types; each is proved by its checksum. page_host is
                              not used */
};

/* A message that was asked for (PAYLOADS, REPORTED), or that the store found (PAGE, CHECK). */
struct persist_entry {
    struct persist_message message; /* asked for: host and id are set. Found: all fields are set;
                                       pointers are valid until persist_read_release */
    bool found;
    bool damaged;        /* check: the checksum is wrong; only seq is reliable */
    bool omitted;        /* found, but content_limit was reached: only lengths are set */
    const char *reasons; /* reported: the latest ones, lines with their newlines; NULL: none */
    size_t reasons_bytes;
};

/* A read job, which runs on another thread. Ownership as for persist_op. */
struct persist_read {
    enum persist_read_kind kind;
    struct persist_entry *entries; /* the caller's: the entries asked for, or room for a page */
    size_t entry_count;            /* page: before: room; after: messages found */

    size_t content_limit; /* payloads: bytes of payloads and media types to read; 0: no limit */

    uint32_t page_host;      /* page */
    int64_t page_after;      /* page: begin behind this seq; 0: from the start */
    size_t page_bytes_limit; /* page: of payloads, filters and media types; one message at least */
    int64_t page_last;       /* filled: seq of the last message found */
    bool page_more;          /* filled: there are more messages */

    void (*done)(struct persist_read *read);

    bool failed; /* filled; `reason` is set then */
    const char *reason;

    void *memory; /* the store's: what the entries point to */
    struct persist_read *next;
};

/* --- the interface ---------------------------------------------------------------------------- */

struct persist;

/* Named outcomes of persist_add_host. */
enum {
    PERSIST_PROFILE_CHANGED = 1 /* the host has messages of another profile */
};

struct persist_info {
    uint8_t store_id[PERSIST_STORE_ID_BYTES]; /* random; another one in each new database */
    int64_t clock_ms;                         /* the latest now_ms saved; 0 in a new database */
    int64_t seq;  /* when the store was opened: the highest seq ever given; 0: none */
    bool relaxed; /* durability: acknowledgements must say so */
};

/* What the store has done since it was opened, and its sizes now. */
struct persist_counters {
    uint64_t transactions; /* committed */
    uint64_t operations;   /* in committed transactions */
    uint64_t failures;     /* transactions that were rolled back */
    uint64_t scrubs;       /* how often the WAL was cut, to get rid of the bytes of removed
                              messages */
    uint64_t file_bytes;   /* of the database */
    uint64_t log_bytes;    /* of the WAL beside the database */
    uint64_t memory_bytes; /* memory of the store */
};

enum persist_job_kind {
    PERSIST_BACKUP, /* writes a whole and consistent copy of the store to a file at `path` */
    PERSIST_COMPACT /* returns unused storage to the file system */
};

/* A long job, which runs beside the operations. Ownership as for persist_op. */
struct persist_job {
    enum persist_job_kind kind;
    const char *path; /* backup: absolute; must not exist: the store overwrites nothing */
    void (*done)(struct persist_job *job);

    bool failed; /* filled, as the fields below */
    bool path_is_wrong;
    char reason[PERSIST_REASON_BYTES]; /* failed: a sentence */
    uint64_t bytes_before;             /* compact: size of the database before */
    uint64_t bytes_after;              /* size of the database after, or of the copy */
};

struct persist_interface {
    const char *name;

    /*
     * Gives the number of the host of this name, and makes the host if it is new. A host without
     * messages gets the profile given. 0; PERSIST_PROFILE_CHANGED with the text of the stored
     * profile in out_profile (PROFILE_TEXT_MAX bytes); or negative with a reason
     * (PERSIST_REASON_BYTES). Blocks: for start-up, before the first submit.
     */
    int (*add_host)(struct persist *persist, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason);

    /*
     * Visits every message of every host in the order of seq, without its payload (payload is NULL,
     * payload_bytes is set). A negative answer of `visit` ends the replay and is returned. Negative
     * with a reason on failure; a replay finds every damaged message. Blocks: for start-up, before
     * the first submit.
     */
    int (*replay)(struct persist *persist,
                  int (*visit)(void *context, const struct persist_message *message), void *context,
                  char *out_reason);

    /* Visits every epoch of every host, oldest first. Otherwise as replay. */
    int (*replay_epochs)(struct persist *persist,
                         int (*visit)(void *context, const struct persist_epoch *epoch),
                         void *context, char *out_reason);

    /* Stores an epoch during start-up. Negative with a reason on failure. Blocks. */
    int (*begin_epoch)(struct persist *persist, const struct persist_epoch *epoch,
                       char *out_reason);

    /* Visits every rule of every host; the rule is borrowed for the call. Otherwise as replay. */
    int (*replay_rules)(struct persist *persist,
                        int (*visit)(void *context, const struct persist_rule *rule), void *context,
                        char *out_reason);

    void (*submit)(struct persist *persist, struct persist_op *op);
    void (*read)(struct persist *persist, struct persist_read *read);
    void (*read_release)(struct persist *persist, struct persist_read *read);

    /*
     * Begins a job. False when another job is running; then nothing happens. Operations wait while
     * the store compacts; a backup hardly delays them. cancel_job makes the job fail soon.
     */
    bool (*begin_job)(struct persist *persist, struct persist_job *job);
    void (*cancel_job)(struct persist *persist);

    void (*info)(const struct persist *persist, struct persist_info *out_info);
    void (*count)(struct persist *persist, struct persist_counters *out_counters);

    /*
     * Closes the store: it commits what was submitted, calls each `done`, frees itself, and calls
     * `closed`. No submit or read after this call.
     */
    void (*close)(struct persist *persist, void (*closed)(void *context), void *context);
};

/* The first member of every implementation. */
struct persist {
    const struct persist_interface *interface;
};

#endif
