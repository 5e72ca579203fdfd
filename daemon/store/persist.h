/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist: where messages survive. An interface; SQLite implements it (persist_sqlite.h), a
 * replicated log may later.
 *
 * What is written are operations: deposit, withdraw, expire, moderate and so on. Each is
 * self-contained (it carries the time and all it needs), idempotent (done twice, it has the effect
 * of once) and applied in the order of submission. Operations queue up while a commit runs; the
 * next commit takes them all, and only after it has their outcome reaches `done`, in order. The
 * store is the judge of what is a duplicate; the caller changes its index and answers its client in
 * `done`, never before.
 *
 * All functions are called on the loop thread, and all callbacks run there, never before the
 * function that asked for them returned.
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
    PERSIST_REASONS_KEPT = 8 /* of one message's reports: the latest */
};

/* Who is shown a message; those from PERSIST_HIDDEN on are shown to nobody. Stored as numbers. */
enum persist_state {
    PERSIST_SHOWN = 0,
    PERSIST_APPROVED = 1, /* the operator has decided so: reports do not hide it any more */
    PERSIST_HIDDEN = 2,   /* reports have hidden it */
    PERSIST_PENDING = 3   /* it waits for review */
};

/* A message as stored. Pointers are borrowed; see each use for how long. */
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
    int64_t
        seq;         /* its number in the store, from 1 on, and the order of pages: each new deposit
                        takes     the next one, and so does a message that is shown after it was not.
                        Filled: in what is read, and in a     deposit and a moderation that was applied */
    uint32_t sender; /* who deposited it, in memory only: not stored, and 0 of what was */
    enum persist_state state; /* deposit: SHOWN or PENDING */
    uint32_t reports;         /* by different senders */
};

/* What the operator has decided beyond single messages. Stored as numbers. */
enum persist_rule_kind {
    PERSIST_BAN_PAYLOAD = 1, /* value: BLAKE2b-256 of payloads that are refused */
    PERSIST_BAN_FILTER = 2, /* value: a filter; number: the distance within which others are, too */
    PERSIST_ACCEPT = 3      /* value: empty; number: which deposits are taken, config.h */
};

/* One of them; of the same host, kind and value there is one at most. */
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
    int64_t kept_ms; /* then it goes, with its key and all its messages */
    uint8_t key[LIMIT_KEY_BYTES];
};

/* --- writing ---------------------------------------------------------------------------------- */

enum persist_kind {
    PERSIST_DEPOSIT,  /* message; one of the same id that has expired by now_ms is replaced */
    PERSIST_WITHDRAW, /* message.host, message.id, message.withdraw_hash: of the token shown */
    PERSIST_EXPIRE,   /* at most `limit` messages and marks that expired by now_ms, and all epochs
                         that are no longer kept */
    PERSIST_EPOCH,    /* *epoch begins */
    PERSIST_HOST,     /* a host of host_name and host_profile is made: message.host is its number
                         then. CONFLICT: the store has one of that name */
    PERSIST_REMOVE,   /* message.host, message.id: as if withdrawn, without a token. With a rule,
                         of kind PERSIST_BAN_PAYLOAD, its payload is banned, too: see there */
    PERSIST_MODERATE, /* message.host, id, deposited_ms. Without reports: a message gets this state.
                         With reports: so many, where that is more than it had; `words` are kept
                         with it, if any; and where the state is HIDDEN what was SHOWN becomes so.
                         State and reports are filled as they are then. One that was not shown and
                         is now takes a new number, see shown_seq */
    PERSIST_RULE_PUT, /* rule; in place of an older one */
    PERSIST_RULE_DROP, /* rule: host, kind, value */
    PERSIST_CLOCK,     /* nothing but now_ms, which every operation that changes something saves */
    PERSIST_TALLY      /* fills `tallies`: what the store has after all operations before this one.
                          With none it only waits its turn. Others wait meanwhile: O(messages) */
};

/* What the store has of one epoch of a host. */
struct persist_tally {
    uint32_t host;  /* asked for; epoch 0 of a host stands before its others */
    uint64_t epoch; /* the same */
    uint64_t shown;
    uint64_t shown_bytes; /* as they count against the caps */
    uint64_t hidden;      /* epoch 0: with those of epochs that were not asked for */
    uint64_t hidden_bytes;
    uint64_t strays;                   /* epoch 0: shown ones of epochs that were not asked for */
    uint8_t whole[LIMIT_FILTER_BYTES]; /* OR of the filters that are shown */
    uint32_t low;                      /* least of their cardinalities; 0: there are none */
    uint32_t high;                     /* greatest */
};

/* Which messages of the host make room for a deposit. */
enum persist_evict { PERSIST_EVICT_NONE, PERSIST_EVICT_OLDEST, PERSIST_EVICT_SOONEST };

enum persist_outcome {
    PERSIST_APPLIED,   /* done, and on storage as far as the durability promises */
    PERSIST_DUPLICATE, /* deposit: the same message is there; its times are put into op->message */
    PERSIST_CONFLICT,  /* deposit: the id is there with other content */
    PERSIST_GONE,      /* deposit: the id was withdrawn, and refused until it would have expired */
    PERSIST_FULL,      /* deposit: `limit` messages going would not make the room asked for */
    PERSIST_NO_SPACE,  /* deposit: what is left of the storage is kept for deleting */
    PERSIST_NOT_FOUND, /* withdraw, remove, moderate: no such message; rule drop: no such rule */
    PERSIST_FORBIDDEN, /* withdraw: another token, or none was deposited */
    PERSIST_FAILED     /* storage: nothing of this operation happened; op->reason says why */
};

/* A message that an expiry took out. */
struct persist_removed {
    uint32_t host;
    uint64_t epoch;
    uint8_t id[MESSAGE_ID_BYTES];
};

enum { PERSIST_EXPIRE_MAX = 256 };

/*
 * One operation. The caller fills it and owns its memory again when `done` is called; until then
 * it, and what message points to, must stay in place.
 */
struct persist_op {
    enum persist_kind kind;
    struct persist_message message;
    int64_t now_ms; /* the host's clock; never runs backwards from one operation to the next */
    /* Deposit: if it is stored, these messages of its host go with it, as far as they are there:
       chosen_count ids, one after the other, the caller's. The deposit's own id is passed over.
       NULL: none. */
    const uint8_t *chosen;
    uint32_t chosen_count;             /* at most `limit` */
    enum persist_evict evict;          /* besides, others of its host that the store finds: */
    uint64_t evict_messages;           /* so many at least, */
    uint64_t evict_bytes;              /* with so many bytes of filters, media types and payloads */
    const struct persist_epoch *epoch; /* epoch: the caller's, like the operation */
    const char *host_name;             /* host: the same */
    const char *host_profile;          /* host: its text */
    void (*done)(struct persist_op *op);
    /* Remove (may be NULL), rule put, rule drop. Of a removal its value is the hash of the payload
       that goes, which the store finds out: see payload_hash. */
    struct persist_rule *rule;
    struct persist_tally *tallies; /* tally: tally_count of them; the caller's */
    size_t tally_count;
    const char *words; /* moderate: a reason, a line of UTF-8, not terminated; may be NULL */
    size_t words_bytes;

    /* Filled before done. */
    enum persist_outcome outcome;
    const char *reason;              /* PERSIST_FAILED: a sentence, static or valid in done */
    struct persist_removed *removed; /* expire, evicting deposit: room for `limit`, the caller's */
    uint32_t limit;                  /* the same: 1 .. PERSIST_EXPIRE_MAX. Expire: the store may
                                        lower it when the storage is full */
    uint32_t removed_count;          /* how many. Expire: fewer than limit: there are no more */
    uint8_t payload_hash[LIMIT_HASH_BYTES]; /* remove with a rule: what is banned now */
    int64_t shown_seq; /* moderate: 0, or the new number of the message (message.seq, too), as it
                          was hidden or waited for review, and is shown now */

    struct persist_op *next; /* the store's, while it has the operation */
};

/* --- reading ---------------------------------------------------------------------------------- */

enum persist_read_kind {
    PERSIST_READ_PAYLOADS, /* the messages of the ids asked for, hidden or not */
    PERSIST_READ_REPORTED, /* the same, and the reasons of those who reported them */
    PERSIST_READ_PAGE,     /* whole messages of one host, in order of their first deposit; none
                              that is hidden */
    PERSIST_READ_CHECK     /* a page of all hosts' messages, hidden or not, without payloads and
                              media types, each proved by its checksum; page_host is not used */
};

/* One message wanted (payloads), or found (both). */
struct persist_entry {
    struct persist_message message; /* payloads: host and id are asked for. Found: all is set, and
                                       pointers hold until persist_read_release */
    bool found;
    bool damaged;        /* check: not as it was written; only seq is sure to be set */
    bool omitted;        /* found, but content_limit was reached: only lengths are set */
    const char *reasons; /* reported: lines, each with its newline; the latest ones, NULL: none */
    size_t reasons_bytes;
};

/* A job of reading, off the loop. The same rule of ownership as for persist_op. */
struct persist_read {
    enum persist_read_kind kind;
    struct persist_entry *entries; /* the caller's: entry_count asked for, or room for a page */
    size_t entry_count;            /* page: room when asked, found when done */

    size_t content_limit; /* payloads: bytes of payloads and media types kept; 0: no limit */

    uint32_t page_host;      /* page */
    int64_t page_after;      /* page: position to go on after; 0: from the start */
    size_t page_bytes_limit; /* page: of payloads, filters and media types; one message at least */
    int64_t page_last;       /* filled: position of the last message found */
    bool page_more;          /* filled: there are more */

    void (*done)(struct persist_read *read);

    bool failed; /* filled; reason then */
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
    uint8_t store_id[PERSIST_STORE_ID_BYTES]; /* random, new with a new database */
    int64_t clock_ms;                         /* the latest now_ms saved; 0 in a new database */
    int64_t seq;  /* of the newest message there ever was, when it was opened; 0: none */
    bool relaxed; /* durability: what acknowledgements must say */
};

/* What an implementation has done since it was opened, and what it holds. */
struct persist_counters {
    uint64_t transactions; /* committed */
    uint64_t operations;   /* in those */
    uint64_t failures;     /* transactions that were rolled back */
    uint64_t scrubs;       /* times that removed messages' bytes were taken out of the log */
    uint64_t file_bytes;   /* of the database */
    uint64_t log_bytes;    /* of the log (WAL) beside it */
    uint64_t memory_bytes; /* that it takes */
};

enum persist_job_kind {
    PERSIST_BACKUP, /* a whole and consistent copy of the store, as a file at `path` */
    PERSIST_COMPACT /* gives storage that is not used any more back */
};

/* What takes long, and goes on beside the operations; the same rule of ownership. */
struct persist_job {
    enum persist_job_kind kind;
    const char *path; /* backup: absolute; nothing may be there, and is not overwritten */
    void (*done)(struct persist_job *job);

    bool failed; /* filled, as what follows */
    bool path_is_wrong;
    char reason[PERSIST_REASON_BYTES]; /* failed: a sentence */
    uint64_t bytes_before;             /* compact: that the store took */
    uint64_t bytes_after;              /* that it takes, or that the copy has */
};

struct persist_interface {
    const char *name;

    /*
     * The number of the host of this name, made if it is new; a host without messages takes the
     * profile given. 0, PERSIST_PROFILE_CHANGED with the stored profile's text in out_profile
     * (PROFILE_TEXT_MAX bytes), or negative with a reason (PERSIST_REASON_BYTES). Blocks; for
     * start-up, before the first submit.
     */
    int (*add_host)(struct persist *persist, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason);

    /*
     * Visits every message of every host, in order of deposit, without payload (payload NULL,
     * payload_bytes set). A negative answer of `visit` ends it and is returned. Negative with a
     * reason on failure; damage is found here. Blocks; for start-up, before the first submit.
     */
    int (*replay)(struct persist *persist,
                  int (*visit)(void *context, const struct persist_message *message), void *context,
                  char *out_reason);

    /*
     * Visits every epoch of every host, oldest first; and stores one that begins before there is
     * anything else to do. As replay.
     */
    int (*replay_epochs)(struct persist *persist,
                         int (*visit)(void *context, const struct persist_epoch *epoch),
                         void *context, char *out_reason);
    int (*begin_epoch)(struct persist *persist, const struct persist_epoch *epoch,
                       char *out_reason);

    /*
     * Visits every rule of every host; what it points to is borrowed for the call. Otherwise as
     * replay.
     */
    int (*replay_rules)(struct persist *persist,
                        int (*visit)(void *context, const struct persist_rule *rule), void *context,
                        char *out_reason);

    void (*submit)(struct persist *persist, struct persist_op *op);
    void (*read)(struct persist *persist, struct persist_read *read);
    void (*read_release)(struct persist *persist, struct persist_read *read);

    /*
     * Begins a job; false when one is under way, and nothing else happens. Operations wait while it
     * compacts, hardly while it copies. `cancel` lets it fail soon.
     */
    bool (*begin_job)(struct persist *persist, struct persist_job *job);
    void (*cancel_job)(struct persist *persist);

    void (*info)(const struct persist *persist, struct persist_info *out_info);
    void (*count)(struct persist *persist, struct persist_counters *out_counters);

    /*
     * Ends it: what was submitted is committed and its `done` called, then `closed`, after which
     * nothing of it is left. No submit or read after this.
     */
    void (*close)(struct persist *persist, void (*closed)(void *context), void *context);
};

/* What an implementation begins with. */
struct persist {
    const struct persist_interface *interface;
};

#endif
