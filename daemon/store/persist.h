/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist: the interface of the storage that keeps messages across restarts. sqlite.h implements
 * this interface with SQLite.
 *
 * Writing. The caller submits operations, such as deposit, withdraw, expire and moderate. An
 * operation carries the time and all other data that the store needs. The store applies operations
 * in the order of submission. While a commit runs, new operations wait in a queue; the next
 * transaction has as many of them as it may take. When a transaction has been committed or has
 * failed for good, the store calls `done` of each operation of the transaction, in order, with the
 * outcome. The store decides which deposits are duplicates.
 *
 * Threads. The functions are called on the loop thread, and the callbacks run on the loop thread.
 * `submit`, `read`, `begin_job` and `close` return before their callbacks run.
 */
#pragma once

#include "core/index/nearest.h"
#include "proto/limits.h"

enum {
    PERSIST_STORE_ID_BYTES = 16,
    PERSIST_PLACE_BYTES = 8,
    PERSIST_REASON_BYTES = 512,
    PERSIST_REASONS_KEPT = 16, /* maximum number of reasons that the store keeps for a message */
    PERSIST_REASONS_GRAVE = 4, /* the newest grave reasons of a message, this number of them,
                                  are not deleted for newer reasons; grave: see `words` */
    PERSIST_WORDS_BYTES_MAX = 1 + LIMIT_REASON_BYTES,
    PERSIST_RULE_BYTES_MAX = LIMIT_RULE_BYTES
};

_Static_assert((int)PERSIST_RULE_BYTES_MAX > (int)LIMIT_FILTER_BYTES, "the largest value");

/*
 * Whether readers see a message. Readers do not see a message in a state from PERSIST_HIDDEN on.
 * The database stores these numbers.
 */
enum persist_state {
    PERSIST_SHOWN = 0,
    PERSIST_APPROVED = 1, /* the operator has approved the message: reports cannot hide it any
                             more */
    PERSIST_HIDDEN = 2,   /* reports have hidden the message */
    PERSIST_PENDING = 3,  /* the message waits for review by the operator */
    PERSIST_WITHHELD =
        4 /* the operator has hidden the message, or has removed it: see destroy_ms */
};

/*
 * A message that is stored or to be stored. The pointers are borrowed: a visitor of `replay` may
 * use them until it returns; persist_op and persist_entry say how long theirs are valid.
 */
struct persist_message {
    uint32_t host; /* number of the host: from add_host or PERSIST_HOST */
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
    bool is_answer;                    /* `answers` is set */
    uint8_t answers[MESSAGE_ID_BYTES]; /* the id of the message that this one answers, its parent */
    /*
     * The number of the message in the store, 1 or more. Pages list messages in the order of these
     * numbers. A new deposit takes the next number. A hidden or pending message that becomes
     * visible takes a new number, too. The store sets `seq` in every message that it finds, and in
     * the operations deposit and moderate with the outcome PERSIST_APPLIED.
     */
    int64_t seq;
    uint32_t sender; /* tag of the sender; not stored: 0 in a message that the store finds */
    enum persist_state state; /* deposit: SHOWN or PENDING */
    uint32_t reports;         /* number of reports */
    uint32_t grave;           /* replay: how many of the reasons that are kept are grave; grave: see
                                 `words` */
    uint32_t texts_bytes; /* replay, and set by a moderate: bytes of the texts of the reasons that
                             are kept, without the digit and the end of each line */
    int64_t destroy_ms;   /* WITHHELD: the first expiry at this time or later deletes the message;
                             0: no such time */
    int64_t removed_ms; /* of a message with a destroy_ms: when it was removed; set by the store */
};

/*
 * Names a decision that an operator made at a copy of a host. The copy keeps the decision in effect
 * until the owner has told that it knows it. Later decisions of a copy have higher numbers, and the
 * time tells a number apart that is given again after the copy was put back from a backup.
 */
struct persist_decision_id {
    uint8_t store_id[PERSIST_STORE_ID_BYTES]; /* of the copy */
    uint64_t number;                          /* 0: no decision is named */
    int64_t time_ms;                          /* when it was made, by the clock of the copy */
};

/*
 * A decision of the operator, as a line of the list of decisions. It has neither text nor address
 * of a guest.
 */
struct persist_decision {
    uint32_t host;
    uint64_t number; /* 1 or more; later decisions of a host have higher numbers */
    int64_t time_ms;
    char act[LIMIT_WORD_BYTES + 1];
    bool has_id; /* the decision is about the message `id` */
    uint8_t id[MESSAGE_ID_BYTES];
    uint32_t kind;    /* enum hearsay_report_kind; 0: not said */
    uint32_t reports; /* how many reports the message had */
    char reason[LIMIT_NOTE_BYTES + 1];
    uint32_t uid; /* the user who decided; LIMIT_UID_HUB: the decision came from the hub */
    bool web;     /* the decision came by the page of the administrator */
    bool waits;   /* this store has a copy of the host: the store keeps the decision in effect until
                     the owner has confirmed it. Not stored with the line */
};

enum { PERSIST_DECISIONS_KEPT = 10000 }; /* of one host; the oldest one leaves */

/* What kind of decision a rule is. The database stores these numbers. */
enum persist_rule_kind {
    PERSIST_BAN_PAYLOAD = 1, /* value: BLAKE2b-256 of a payload that is refused */
    PERSIST_BAN_FILTER = 2,  /* value: a filter. A deposit is refused if the distance of its
                                filter to this filter is at most `number` millionths */
    PERSIST_ACCEPT = 3,      /* value: empty; number: the mode of acceptance of deposits (enum
                                accept) */
    PERSIST_NOTICE = 4,      /* value: language, NUL, text, and for one place NUL and its name;
                                number: of the notice, 1 or more */
    PERSIST_RESTORED = 5     /* value: empty. A mark, and no decision: the messages that copies of
                                the host had are back */
};

/*
 * A decision of the operator about a whole host. A host has at most one rule with the same kind and
 * value.
 */
struct persist_rule {
    uint32_t host;
    enum persist_rule_kind kind;
    const uint8_t *value; /* not NULL */
    size_t value_bytes;   /* at most PERSIST_RULE_BYTES_MAX */
    uint32_t number;
    int64_t created_ms;
    int64_t until_ms; /* an expiry at this time or later deletes the rule; 0: none does */
    bool dropped;     /* a mark: the rule was dropped at created_ms. Changes and PERSIST_APPLY only:
                         replay_rules leaves marks out */
    int64_t seq;      /* the store's: the number of the change; 0: others are not told */
};

enum { PERSIST_DROPPED_DAYS = 30 }; /* how long the mark of a dropped rule is kept */

/* Why a message is gone. The database stores these numbers. */
enum persist_why {
    PERSIST_WHY_WITHDRAWN = 1,
    PERSIST_WHY_REMOVED = 2, /* by the operator */
    PERSIST_WHY_EVICTED = 3  /* for a new deposit: the message may be deposited again */
};

/*
 * A change: the present state of a message, or of a rule, that other stores are told of. A change
 * has no tag of a sender, no address, no reason of a report and no key of an epoch. Messages of
 * epochs other than 0, and answers, are no part of any change.
 *
 * If PERSIST_REPLICATE was applied to a host, everything that changes one of its states gives the
 * state the next number, `seq`. A message that expires is no change: it expires everywhere. A state
 * that changes again has only its latest number. So the changes after a number are everything that
 * a reader of all changes up to this number does not know yet.
 */
enum persist_change_kind {
    PERSIST_CHANGE_MESSAGE = 1, /* the message is stored, shown or not */
    PERSIST_CHANGE_GONE,        /* the message is withdrawn, removed or evicted */
    PERSIST_CHANGE_RULE         /* the rule is in force, or dropped */
};

struct persist_change {
    enum persist_change_kind kind;
    int64_t seq;
    /*
     * MESSAGE: the whole message with its state and its number of reports; destroy_ms and
     * removed_ms are 0. GONE: host, id and epoch 0; expires_ms is the time until which the message
     * stays gone.
     */
    struct persist_message message;
    enum persist_why why;                   /* GONE */
    struct persist_rule rule;               /* RULE */
    struct persist_decision_id decision_id; /* the last decision of a copy that is taken note of; or
                                               the waiting decision that this change is */
};

/* What the owner's state has made of a decision that waited here. */
enum persist_verdict {
    PERSIST_NO_VERDICT = 0, /* no decision waited, or it still does */
    PERSIST_KEPT,           /* the owner has confirmed it, or the message is gone there */
    PERSIST_NOT_KEPT        /* the owner knows it and has decided otherwise, or cannot do it */
};

/* On whose behalf a state is applied. */
enum persist_as {
    PERSIST_AS_REPLICA = 1, /* the state is its owner's, and this store has a copy */
    PERSIST_AS_RESTORE,     /* this store is the owner's, and gets back what it had */
    PERSIST_AS_OPERATOR     /* a decision of an operator, made at another store */
};

/* An epoch of a host: an interval of time with a key. */
struct persist_epoch {
    uint32_t host;
    uint64_t number; /* not 0 */
    int64_t starts_ms;
    int64_t ends_ms;
    int64_t kept_ms; /* the first expiry with this time or a later one deletes the epoch and its
                        key; the messages of the epoch expire at this time at the latest */
    uint8_t key[LIMIT_KEY_BYTES];
};

/* --- writing ---------------------------------------------------------------------------------- */

enum persist_kind {
    /*
     * Stores `message`. Replaces a stored message of the same host and id if the stored message has
     * expired by now_ms. An answer is stored only if its parent is stored, answers no message
     * itself and has not expired: else PERSIST_NO_PARENT. It gets an earlier expiry if its parent
     * has one. Whatever deletes a message deletes the answers to it in the same transaction.
     */
    PERSIST_DEPOSIT,
    /*
     * Deletes the message that message.host and message.id name, and stores a tombstone, if
     * message.withdraw_hash equals the hash that was deposited with the message.
     */
    PERSIST_WITHDRAW,
    /*
     * Deletes expired data: at most `limit` messages that have expired or whose destroy_ms has
     * come, at most `limit` tombstones, all epochs whose kept_ms has come, all rules whose until_ms
     * has come, and the decisions that were made before decided_before_ms. The time is now_ms.
     */
    PERSIST_EXPIRE,
    /* Stores *epoch, unless the host has an epoch of this number. */
    PERSIST_EPOCH,
    /*
     * Makes a host with the name host_name and the profile host_profile, and sets message.host to
     * its number. The outcome is PERSIST_CONFLICT if the store has a host of this name.
     */
    PERSIST_HOST,
    /*
     * Deletes the message that message.host and message.id name, without a withdraw token, and
     * stores a tombstone, and that the operator removed the message. Sets message.expires_ms. If
     * `rule` is not NULL, the store also bans the payload of the message. The kind of the rule is
     * PERSIST_BAN_PAYLOAD.
     */
    PERSIST_REMOVE,
    /*
     * Sets the state of the message that message.host and message.id name to WITHHELD. If
     * message.destroy_ms is 0, the operator hides the message; else the operator removes the
     * message, and the store puts the same tombstone and rule as REMOVE does. A destroy_ms after
     * expires_ms is replaced by expires_ms. A PERSIST_SHIFT that is applied before this operation
     * may set the clock forward, beyond now_ms; then destroy_ms moves forward by the same time. A
     * message that is removed already keeps its destroy_ms, and cannot be hidden:
     * PERSIST_FORBIDDEN. With the outcome PERSIST_APPLIED, the store fills in the times, the state
     * and the reports of `message`.
     */
    PERSIST_WITHHOLD,
    /*
     * Changes the state, the number of reports, or both, of one stored message. message.host,
     * message.id and message.deposited_ms name the message.
     *
     * If message.reports is 0: sets the state to message.state, and destroy_ms and removed_ms to 0.
     * If the operator had removed the message, the store also deletes the tombstone. If destroy_ms
     * is not after now_ms, the outcome is PERSIST_NOT_FOUND.
     *
     * If message.reports is not 0: raises a lower stored number of reports to message.reports, and
     * keeps `words` if the number rose. If message.state is HIDDEN, the state SHOWN becomes HIDDEN.
     *
     * With the outcome PERSIST_APPLIED, message.state and message.reports have the stored values.
     * If a hidden or pending message became visible, it has a new number: shown_seq.
     */
    PERSIST_MODERATE,
    /* Stores *rule. Replaces a stored rule of the same host, kind and value. */
    PERSIST_RULE_PUT,
    /* Deletes the rule with the host, the kind and the value of *rule. */
    PERSIST_RULE_DROP,
    /*
     * Saves now_ms and shift_from_ms, and does nothing else. Other operations save now_ms, too, if
     * they change the database.
     */
    PERSIST_CLOCK,
    /*
     * The host's clock is set forward by shift_ms, to now_ms. Adds shift_ms to both times of every
     * message that was deposited at shift_from_ms or later and has a number from message.seq on;
     * to both times of every rule with an end that was made at shift_from_ms or later; to the time
     * of the decisions since shift_from_ms; to removed_ms and destroy_ms of every message that was
     * removed at shift_from_ms or later; and to the end of all epochs and tombstones that had not
     * ended before.
     */
    PERSIST_SHIFT,
    /*
     * From now on the host message.host has changes, or has none: `replicate`. The store keeps this
     * in its file. If the host had no changes before, its tombstones, states and rules of before
     * get their numbers now. The outcome is PERSIST_DUPLICATE if the host has changes, or has none,
     * already; a new host has none.
     */
    PERSIST_REPLICATE,
    /*
     * Applies a state of another store: `change` says what it is about, `as` on whose behalf. Takes
     * the state from `message`, whose epoch is 0, and `why`, or from `rule`. Evicts nothing. The
     * outcome is
     * - PERSIST_APPLIED, if the operation has changed something;
     * - PERSIST_DUPLICATE, if there is nothing to do. The store writes nothing then;
     * - PERSIST_CONFLICT, if the id is stored with other content, which stays;
     * - PERSIST_NO_SPACE or PERSIST_FAILED.
     *
     * PERSIST_CHANGE_MESSAGE: nothing is to be done if the message has expired, unless `as` is
     * PERSIST_AS_REPLICA and the same message is stored with a later expiry: then it is deleted.
     * Nothing is to be done if the id has the tombstone of a withdrawn or removed message. One
     * exception: PERSIST_AS_REPLICA with the state APPROVED or WITHHELD lifts the tombstone of a
     * removed message, which its operator has brought back. Times, state and reports are stored as
     * they are given. With other times the message takes a new number. PERSIST_AS_RESTORE does not
     * show what is hidden here. PERSIST_AS_OPERATOR changes the state of a stored message only:
     * nothing is to be done if the message is not stored, and content, times and reports do not
     * count. With the outcome PERSIST_APPLIED the store sets the seq, the state and the reports of
     * `message`; of AS_OPERATOR also the times.
     *
     * PERSIST_CHANGE_GONE: deletes the message, and keeps a tombstone until message.expires_ms, as
     * WITHDRAW or REMOVE do. With PERSIST_WHY_EVICTED no id is refused, also not the one of a
     * removed message; and nothing is to be done unless `as` is PERSIST_AS_REPLICA.
     *
     * PERSIST_CHANGE_RULE: stores the rule, or the mark of a dropped rule. Nothing is to be done if
     * the store has a newer state of the rule: the one with the greater created_ms counts, and of
     * two with the same time the dropped one.
     *
     * PERSIST_AS_REPLICA keeps a decision that waits (persist_decision) in effect, until
     * decision_id names it, or the message is gone at its owner; `verdict` says what has become of
     * it. Until then only the times and reports of the message are taken. PERSIST_AS_OPERATOR with
     * a decision_id takes note of the decision, also if it changes nothing, so that the next change
     * of the message or rule names it; nothing is to be done for a decision that was taken note of
     * before, or that is older than one of the same copy.
     */
    PERSIST_APPLY,
    /*
     * Fills `tallies` with counts that include all earlier operations. With tally_count 0 nothing
     * is counted; then `done` tells that all earlier operations are done. Otherwise the store reads
     * every message, and later operations wait meanwhile.
     */
    PERSIST_TALLY
};

/* Counts and sums over the messages of one epoch of a host. */
struct persist_tally {
    uint32_t host;  /* set by the caller */
    uint64_t epoch; /* set by the caller */
    uint64_t shown;
    uint64_t shown_bytes; /* bytes of filters, media types and payloads of the shown messages */
    uint64_t
        hidden; /* hidden and pending messages, and answers, of the epoch; the tally of epoch 0 also
                   counts hidden and pending messages of the host's epochs without a tally */
    uint64_t hidden_bytes;
    uint64_t strays;                   /* tally of epoch 0: shown messages of the host's epochs
                                          without a tally */
    uint8_t whole[LIMIT_FILTER_BYTES]; /* OR of the filters of the shown messages */
    uint32_t low;                      /* least cardinality of the filters of the shown messages */
    uint32_t high;                     /* greatest cardinality of the same filters */
};

/* Which messages of the host a deposit evicts. */
enum persist_evict { PERSIST_EVICT_NONE, PERSIST_EVICT_OLDEST, PERSIST_EVICT_SOONEST };

enum persist_outcome {
    PERSIST_APPLIED,   /* done, and on storage as the durability setting promises */
    PERSIST_DUPLICATE, /* deposit: the same message is stored already; op->message gets the number,
                          the times, the state and the reports of the stored message. apply,
                          replicate: there is nothing to do */
    PERSIST_CONFLICT,  /* deposit, apply: the id is stored with other content; host: the name is
                          stored */
    PERSIST_GONE,      /* deposit: the id has a tombstone, because its message was withdrawn or
                          removed */
    PERSIST_NO_PARENT, /* deposit: the message answers one that is not stored, has expired, is of
                          another epoch, or is an answer itself */
    PERSIST_FULL,      /* deposit: evicting `limit` messages, or all other messages of the host,
                          would not be enough */
    PERSIST_NO_SPACE,  /* deposit, apply: the storage that is left is reserved for deleting;
                          op->reason  says so */
    PERSIST_NOT_FOUND, /* withdraw, remove, withhold, moderate: there is no such message, or it has
                          expired; rule drop: there is no such rule */
    PERSIST_FORBIDDEN, /* withdraw: another hash was deposited with the message, or none;
                          withhold: the message is removed, and cannot be hidden */
    PERSIST_FAILED     /* the operation failed and changed nothing; op->reason says why */
};

/* A message that an expiry deleted, or that a deposit evicted. */
struct persist_removed {
    uint32_t host;
    uint64_t epoch;
    uint8_t id[MESSAGE_ID_BYTES];
};

enum { PERSIST_EXPIRE_MAX = 256 };

/*
 * One operation. The caller fills the operation and submits it. The operation, and all data that it
 * points to, must stay in place until the store calls `done`. From `done` on the memory belongs to
 * the caller again.
 */
struct persist_op {
    enum persist_kind kind;
    struct persist_message message;
    int64_t now_ms;            /* the time of the operation, in milliseconds since 1970 */
    int64_t shift_from_ms;     /* clock, shift: see persist_info */
    int64_t shift_ms;          /* shift: more than 0 */
    int64_t decided_before_ms; /* expire */
    /*
     * Deposit: chosen_count ids of messages of the deposit's host, MESSAGE_ID_BYTES each. If the
     * deposit is stored, the store deletes these messages. The store skips ids that are not stored,
     * and the id of the deposit itself.
     */
    const uint8_t *chosen;
    uint32_t chosen_count; /* at most `limit` */
    /*
     * Deposit: if `evict` is not PERSIST_EVICT_NONE, the store also evicts other messages of the
     * host, in the order `evict`. It stops when it has evicted at least evict_messages messages,
     * and these have at least evict_bytes bytes of filters, media types and payloads.
     */
    enum persist_evict evict;
    uint64_t evict_messages;
    uint64_t evict_bytes;
    const struct persist_epoch *epoch;      /* epoch */
    const char *host_name;                  /* host */
    const char *host_profile;               /* host: its text */
    bool replicate;                         /* replicate: the host has changes */
    enum persist_change_kind change;        /* apply */
    enum persist_as as;                     /* apply */
    enum persist_why why;                   /* apply: of PERSIST_CHANGE_GONE */
    struct persist_decision_id decision_id; /* apply */
    void (*done)(struct persist_op *op);
    /*
     * The rule of the operations rule put, rule drop, apply, remove and withhold (the last two:
     * NULL bans nothing). A removal ignores the value of the rule, and stores the rule with
     * payload_hash as the value.
     */
    struct persist_rule *rule;
    /*
     * Remove, withhold, moderate, rule put, rule drop, apply: the decision, which the store keeps
     * if the operation changes something. The store sets `number` and `reports` in its own copy. A
     * removal with a rule makes a second decision, "ban". NULL: no decision is kept.
     */
    const struct persist_decision *decision;
    struct persist_tally *tallies; /* tally: tally_count of them */
    size_t tally_count;
    /* moderate: a reason as a line of UTF-8, not terminated; may be NULL. The first byte is the
     * digit of the kind of the report (enum hearsay_report_kind). A reason is grave if its kind is
     * HEARSAY_REPORT_ILLEGAL or HEARSAY_REPORT_ABOUT_ME. If PERSIST_REASONS_KEPT reasons are
     * stored, the oldest reason is deleted that is not grave; or the oldest grave reason, if more
     * than PERSIST_REASONS_GRAVE reasons, the new one included, are grave. */
    const char *words;
    size_t words_bytes; /* at most PERSIST_WORDS_BYTES_MAX */

    /* The store fills these before `done`. */
    enum persist_outcome outcome;
    enum persist_verdict verdict; /* apply */
    /* PERSIST_FAILED, PERSIST_NO_SPACE: a sentence, valid until `done` returns. */
    const char *reason;
    /*
     * Expire: the deleted messages. Deposit: the chosen and evicted messages. The caller provides
     * an array of `limit` elements (1 .. PERSIST_EXPIRE_MAX), and the store deletes at most `limit`
     * of these messages. For an expiry the store may lower `limit` while the storage is full. If an
     * expiry was applied and removed_count < limit, no more messages had expired.
     */
    struct persist_removed *removed;
    uint32_t limit;
    uint32_t removed_count;
    /* expire: when the message expires that is the next one, at the earliest; INT64_MAX: there is
     * no message. Only if removed_count < limit */
    int64_t next_ms;
    uint32_t destroyed_count; /* expire: of these, the first ones, whose destroy_ms has come */
    /* remove, withhold: BLAKE2b-256 of the payload of the message */
    uint8_t payload_hash[LIMIT_HASH_BYTES];
    int64_t shown_seq; /* moderate: the new number of a message that became visible, else 0 */

    struct persist_op *next; /* the store's, while it has the operation */
};

/* --- reading ---------------------------------------------------------------------------------- */

enum persist_read_kind {
    PERSIST_READ_PAYLOADS,  /* the messages of the ids asked for, in any state */
    PERSIST_READ_REPORTED,  /* messages as for PAYLOADS, with the reasons of their reports */
    PERSIST_READ_PAGE,      /* complete messages of one host in the order of seq; hidden and pending
                               messages are left out */
    PERSIST_READ_LIST,      /* messages of one host in any state, without their filters and with the
                               reasons of their reports; removed and expired messages are left out.
                               In the descending order of seq, or in the ascending one with
                               page_newer */
    PERSIST_READ_CHECK,     /* messages of all hosts in the order of seq, in any state, without
                               payloads and media types. A wrong checksum does not end the read.
                               page_host is not used */
    PERSIST_READ_DECISIONS, /* the newest decisions of page_host with numbers below
                               decisions_before, newest first */
    PERSIST_READ_CHANGES /* the changes of page_host after page_after, in the order of seq: hidden
                            messages and payloads, too */
};

/*
 * A message that the caller asked for by id (PAYLOADS, REPORTED), or a message that the store found
 * (PAGE, LIST, CHECK).
 */
struct persist_entry {
    /*
     * To read a message by id, the caller sets host and id. When the store finds the message, it
     * overwrites the whole struct: `sender` is 0, and `state` and `reports` are 0 unless the kind
     * is CHECK. The pointers are valid until read_release. CHECK sets media_type and payload to
     * NULL.
     */
    struct persist_message message;
    bool found;
    bool damaged;        /* CHECK: the row does not match its checksum; only seq is reliable */
    bool omitted;        /* PAYLOADS, REPORTED: the message exists, but its payload and media type
                            exceed the rest of content_limit. The lengths are set; filter,
                            media_type and payload are NULL */
    const char *reasons; /* REPORTED, LIST: the reasons kept, a newline after each; NULL: none */
    size_t reasons_bytes;
};

/*
 * A read job, which the reader's thread does. The caller fills the struct and submits it. The
 * struct, and all data that it points to, must stay in place until the store calls `done`.
 */
struct persist_read {
    enum persist_read_kind kind;
    struct persist_entry *entries; /* an array of the caller. PAYLOADS, REPORTED: messages to read;
                                      PAGE, LIST, CHECK: places for messages */
    size_t entry_count;            /* before the read: number of elements of `entries`; after a read
                                      PAGE, LIST or CHECK: number of messages found */

    size_t content_limit; /* PAYLOADS, REPORTED: maximum bytes of payloads and media types to read;
                             0: no limit */

    uint32_t page_host;  /* PAGE, LIST, DECISIONS, CHANGES */
    int64_t page_after;  /* PAGE, CHECK, CHANGES: read messages, or changes, with a greater seq than
                            this; 0: from the start. LIST: with a smaller seq; INT64_MAX: from the
                            newest one */
    bool page_newer;     /* LIST: with a greater seq than page_after, and in ascending order */
    bool page_filters;   /* LIST: with the filters of the messages */
    int64_t page_now_ms; /* LIST: messages that expire at this time or earlier are left out */
    struct persist_change *changes; /* CHANGES: places; `entries` is not used. The pointers are
                                       valid until read_release */
    size_t change_count;            /* CHANGES: before the read: number of places; after it: number
                                       of changes found */
    bool only_waiting; /* CHANGES: only decisions that wait for the owner, in the order of their
                          numbers, which page_after and page_last are then */
    uint32_t waiting;  /* CHANGES, only_waiting: filled: how many there are */
    int64_t waiting_since_ms; /* the same: when the oldest of them was made; 0: there is none */
    struct persist_decision *decisions; /* DECISIONS: places; `entries` is not used */
    size_t decision_count;     /* DECISIONS: before the read: number of places; after it: number of
                                  decisions found */
    uint64_t decisions_before; /* DECISIONS: at most INT64_MAX */

    size_t page_bytes_limit; /* bytes of payloads, filters and media types. PAGE, CHANGES, and LIST,
                                which counts reasons, too: a message with which the page would
                                exceed this number is left out, unless it is the first one, and
                                ends the page. CHECK: such a message is the last one of the page.
                                CHANGES counts the values of rules, too */
    int64_t page_last;       /* filled: seq of the last message, or change; none: page_after */
    bool page_more;          /* filled: there are more messages or changes, or older decisions */

    void (*done)(struct persist_read *read);

    bool failed; /* filled; `reason` is set then */
    const char *reason;

    void *memory; /* the store's: what the entries point to */
    struct persist_read *next;
};

/* --- the interface ---------------------------------------------------------------------------- */

struct persist;

/* Named outcomes of add_host. */
enum {
    PERSIST_PROFILE_CHANGED = 1 /* the host has messages of another profile */
};

struct persist_info {
    uint8_t store_id[PERSIST_STORE_ID_BYTES]; /* random; another one in each new database */
    /* the first bytes of the id of the database when it was made; a restored backup has a new id
     * and keeps these, because its messages have the label of this place */
    uint8_t place[PERSIST_PLACE_BYTES];
    int64_t clock_ms; /* the latest now_ms that was saved before the store was opened; 0: none */
    /* messages that were deposited at this time or later came while the clock was not trusted;
     * INT64_MAX: there are none */
    int64_t shift_from_ms;
    int64_t seq;       /* the highest seq that was given before the store was opened; 0: none */
    uint64_t messages; /* that were stored when the store was opened, of all hosts */
    bool relaxed;      /* durability: acknowledgements must say so */
};

/* Counters since the store was opened, and present sizes in bytes. */
struct persist_counters {
    uint64_t transactions; /* that succeeded, also those that had nothing to write */
    uint64_t operations;   /* in these transactions */
    uint64_t failures;     /* transactions that failed and were rolled back */
    uint64_t scrubs;       /* how often the WAL was truncated to 0 bytes */
    uint64_t file_bytes;   /* of the database */
    uint64_t log_bytes;    /* of the WAL beside the database */
    uint64_t memory_bytes; /* memory that SQLite uses in this process */
};

enum persist_job_kind {
    PERSIST_BACKUP, /* writes a complete, consistent copy of the store to a file at `path` */
    PERSIST_COMPACT /* returns unused storage to the file system */
};

/*
 * A long job, a backup or a compaction. The caller fills the struct and begins the job. The struct,
 * and all data that it points to, must stay in place until the store calls `done`.
 */
struct persist_job {
    enum persist_job_kind kind;
    const char *path; /* backup: an absolute path; no file of this path may exist */
    void (*done)(struct persist_job *job);

    /* The caller sets the fields below to 0. */
    bool failed;
    bool path_is_wrong;                /* failed: no file could be made at `path` */
    char reason[PERSIST_REASON_BYTES]; /* failed: a sentence */
    uint64_t bytes_before;             /* compact: size of the database before */
    uint64_t bytes_after;              /* size of the database after, or of the copy */
};

struct persist_interface {
    const char *name;

    /*
     * Finds the host of this name and sets *out_host to its number. Makes the host if the store has
     * none of this name. A stored host without messages gets the new profile. Returns 0. Returns
     * PERSIST_PROFILE_CHANGED if the host has messages of another profile, whose text is then in
     * out_profile (PROFILE_TEXT_MAX bytes). Or returns a negative error with a sentence in
     * out_reason (PERSIST_REASON_BYTES). Blocks: only for start-up, before the first submit.
     */
    int (*add_host)(struct persist *persist, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason);

    /*
     * Calls `visit` for every message of every host in the order of seq. Payloads are left out:
     * payload is NULL, payload_bytes is set. A negative result of `visit` ends the replay and is
     * returned. On failure returns a negative error with a sentence in out_reason. The replay
     * verifies the checksum of every message, and fails at the first damaged one. Blocks: only for
     * start-up, before the first submit.
     */
    int (*replay)(struct persist *persist,
                  int (*visit)(void *context, const struct persist_message *message), void *context,
                  char *out_reason);

    /*
     * Calls `visit` for every epoch of every host. Of each host the oldest epochs come first. A
     * negative result of `visit` ends the calls and is returned. On failure returns a negative
     * error with a sentence in out_reason. Blocks: only for start-up, before the first submit.
     */
    int (*replay_epochs)(struct persist *persist,
                         int (*visit)(void *context, const struct persist_epoch *epoch),
                         void *context, char *out_reason);

    /*
     * Stores an epoch, unless the host has an epoch of its number. Returns 0, or a negative error
     * with a sentence in out_reason. Blocks: only for start-up, before the first submit.
     */
    int (*begin_epoch)(struct persist *persist, const struct persist_epoch *epoch,
                       char *out_reason);

    /*
     * Calls `visit` for every rule of every host. The rule is valid during the call. A negative
     * result of `visit` ends the calls and is returned. On failure returns a negative error with a
     * sentence in out_reason. Blocks: only for start-up, before the first submit.
     */
    int (*replay_rules)(struct persist *persist,
                        int (*visit)(void *context, const struct persist_rule *rule), void *context,
                        char *out_reason);

    /*
     * Calls `visit` for every message that the operator has removed and that has not expired, with
     * its host, its id and its expires_ms; the other fields are 0. A negative result of `visit`
     * ends the calls and is returned. On failure returns a negative error with a reason. Blocks:
     * only for start-up, before the first submit.
     */
    int (*replay_removed)(struct persist *persist,
                          int (*visit)(void *context, const struct persist_message *message),
                          void *context, char *out_reason);

    void (*submit)(struct persist *persist, struct persist_op *op);
    void (*read)(struct persist *persist, struct persist_read *read);
    void (*read_release)(struct persist *persist, struct persist_read *read);

    /*
     * begin_job begins a job. Returns false and does nothing if another job is running. During a
     * compaction operations wait; between the slices of a backup they are committed. cancel_job
     * asks the running job to fail; a job that is nearly done may still succeed.
     */
    bool (*begin_job)(struct persist *persist, struct persist_job *job);
    void (*cancel_job)(struct persist *persist);

    void (*info)(const struct persist *persist, struct persist_info *out_info);
    void (*count)(struct persist *persist, struct persist_counters *out_counters);

    /*
     * Closes the store. The store carries out all submitted operations and reads, calls each
     * `done`, frees itself, and then calls `closed`. No submit, read or job may follow.
     */
    void (*close)(struct persist *persist, void (*closed)(void *context), void *context);
};

/* The first member of every implementation. */
struct persist {
    const struct persist_interface *interface;
};
