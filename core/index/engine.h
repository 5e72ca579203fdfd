/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: the functions that an engine of an index implements, and the functions of a search that
 * an engine may call.
 *
 * An engine keeps filters and items; index.c keeps the list of searches. A cursor stays valid when
 * messages are inserted or removed. It compares, or rules out, each message that the engine holds
 * from the cursor's start to its end. A cursor may visit a message twice. It may or may not visit a
 * message that was inserted meanwhile: index.c offers such a message itself.
 */
#pragma once

#include "core/index/index.h"

/* --- memo ------------------------------------------------------------------------------------- */

/*
 * Stores the results of testing message ids against a query's slices, so that a second part
 * of a search need not test a message again. It has two bits for each place: whether the message
 * there was tested, and the result. A place is a number that the engine gives to a message
 * (engine.h). After an insert or a removal a place may belong to another message, so the memo is
 * cleared then.
 */

/* A memo of all zeros is valid and stores nothing. */
struct index_memo {
    const struct alloc *alloc; /* borrowed */
    uint8_t *known;            /* four places a byte */
    size_t bytes;
    bool is_used;
};

/*
 * Makes a memo for at least the places 0 .. places - 1; results for places beyond its memory are
 * not stored. 0 or -ERR_NOMEM.
 */
int index_memo_init(struct index_memo *memo, const struct alloc *alloc, size_t places);
void index_memo_deinit(struct index_memo *memo);

/* Clears the memo. O(places); O(1) if the memo is clear. */
void index_memo_forget(struct index_memo *memo);

/* index_memo_get reads the result for a place; false: nothing is stored. index_memo_put stores a
 * result. `memo` may be NULL. */
bool index_memo_get(const struct index_memo *memo, size_t place, bool *out_answer);
void index_memo_put(struct index_memo *memo, size_t place, bool answer);

/* --- notes ------------------------------------------------------------------------------------ */

/*
 * A queue of the ids of messages that were inserted into an index or removed from it, while
 * a renewal (renewal) of that index runs. The index adds ids; the renewal takes them, oldest
 * first.
 *
 * notes_add returns no error, because the index has already been changed. So `failure` stores the
 * error and all notes are freed; the next call of renewal_copy or renewal_follow returns the error.
 */

/* Error: the queue would have more than `most` notes. */
enum { NOTES_FULL = 1 };

struct notes {
    const struct alloc *alloc; /* borrowed */
    struct note_block *oldest; /* a list of blocks of ids */
    struct note_block *newest;
    size_t count;   /* notes that wait */
    size_t most;    /* most notes that may wait */
    uint64_t added; /* all notes since notes_init, with those that were taken */
    int failure;    /* 0, NOTES_FULL, -ERR_NOMEM */
};

void notes_init(struct notes *notes, const struct alloc *alloc, size_t most);
void notes_deinit(struct notes *notes);

/* Adds an id (MESSAGE_ID_BYTES). Does nothing after a failure. */
void notes_add(struct notes *notes, const uint8_t *id);

/* Takes the oldest note out; `count` must not be 0. */
void notes_take(struct notes *notes, uint8_t *out_id);

/* --- engine ----------------------------------------------------------------------------------- */

/* One part of a search, as a cursor sees it. search.c owns it. */
struct index_probe {
    const struct index_query *query;
    const uint64_t *filter;   /* the part's */
    const uint64_t *contains; /* the part's, or NULL */
    uint32_t cardinality;     /* set bits of filter */
    uint32_t contains_cardinality;
    uint32_t part;
    uint32_t source;    /* number of the first part that searches the same index */
    uint32_t part_bits; /* m of the part's profile */
    const struct profile *profile;
    struct phi_query phi;     /* only with the metric phi, and so is the next field */
    struct bits_phi phi_test; /* for index_probe_scan */
    struct nearest *nearest;  /* the k best; all parts of the search share them */
    uint32_t expected;        /* about how many of the k best this part will find; at least 1 */
    bool first_look;          /* the other parts have not been looked at yet: see cursor_step */
    /*
     * set by the engine: an upper bound of how similar the messages are that this part has not
     * compared yet, in a unit of the engine. The search goes on with the part that has the highest
     * bound
     */
    uint16_t promise;
    uint32_t opened;    /* groups that all parts opened since the search began or restarted; the
                           tree counts them */
    bool check_repeats; /* an offered message may already be among the k best */
    bool incomplete;    /* true: the engine left out messages without a proof */
    int64_t now_ms;
    /* The stored results of tests whether a message's id is in the query's slices. NULL: no result
     * is stored. */
    struct index_memo *memo;
    uint64_t comparisons;
    uint64_t looks; /* how many bits and hashes were read to test ids against the query's slices */
    uint64_t bytes; /* bytes of the index that comparisons have read, as the engine counts them */
};

/* The work done so far, in the unit of a step's budget. */
static inline uint64_t index_probe_work(const struct index_probe *probe)
{
    return probe->comparisons + probe->looks;
}

/* The place of a message that has none: see index_probe_offer. */
#define INDEX_NO_PLACE UINT32_MAX

/*
 * Offers one message to the k best if the message meets all conditions of the query: expiry,
 * window, `contains`, max distance, reach, and an id that is not in the query's slices. With the
 * metric phi, the reach limits the distance that phi gives if the message asks: the sections in
 * which the message has bits count, so that a query of one topic is not near to a message that is
 * meant for one place. With the metric of bits it limits the bit distance. `overlap`
 * and `contains_overlap` are the numbers of bits that the message's filter shares with the query's
 * filter and with the `contains` filter. `filter` is the message's filter; its words are `stride`
 * words apart. The function reads `filter` only if the metric needs more than these numbers.
 *
 * index_probe_offer_counted is for an engine that knows the set bits by section, which a rank by
 * phi needs: counts.first[0] is the cardinality, and counts.first[s * counts.stride] has the set
 * bits in section s of the profile, s > 0. index_probe_offer counts them. It returns false if no
 * older message with the same filter and the same reach can be an answer.
 *
 * `place` is INDEX_NO_PLACE, or a number below `places` (struct index_engine) that no other message
 * of the engine has until a message comes or goes. If several parts of a query search one index,
 * the results of testing ids against the slices are stored by this number, so that another part
 * need not test again.
 */
void index_probe_offer(struct index_probe *probe, const struct index_item *item, uint32_t place,
                       const uint64_t *filter, size_t stride, uint32_t cardinality,
                       uint32_t overlap, uint32_t contains_overlap);

struct index_counts {
    const uint16_t *first; /* borrowed */
    size_t stride;
};
bool index_probe_offer_counted(struct index_probe *probe, const struct index_item *item,
                               uint32_t place, const uint64_t *filter, size_t stride,
                               struct index_counts counts, uint32_t overlap,
                               uint32_t contains_overlap);

/*
 * Returns whether a message with this overlap and cardinality can still be among the k best. Checks
 * the distance bound and the rank, but not with the metric phi. "true" is no proof. The call costs
 * less than index_probe_offer.
 */
bool index_probe_may_pass(const struct index_probe *probe, uint32_t cardinality, uint32_t overlap);

/*
 * Returns the floor, a number by which an engine can rule out many messages at a time, at most
 * 2^15: a message that does not pass it cannot be among the k best, and other messages may be. The
 * floor rises as better messages are found, so an engine calls index_probe_floor again after an
 * offer.
 *
 * Let s be the smallest similarity that the k best (if the query's order is by similarity), the
 * distance bound and the floor of the query still accept. With the metric of bits, the floor is
 * floor(s / (1 + s) * 2^INDEX_FLOOR_SHIFT), and
 * a message passes it if
 *
 *   overlap * 2^INDEX_FLOOR_SHIFT >= (cardinality of the query + its own cardinality) * floor.
 *
 * With phi, the floor is phi_floor of s, and a message passes it if struct bits_phi (bits.h) says
 * so.
 *
 * index_probe_scan returns the arguments of `scan`, which tests many messages. `stride` is that of
 * bits_scan. The caller sets the floor.
 */
enum { INDEX_FLOOR_SHIFT = BITS_FLOOR_SHIFT };
uint16_t index_probe_floor(const struct index_probe *probe);
struct bits_scan index_probe_scan(const struct index_probe *probe, size_t stride);

/* Fills in what the metric phi needs (index_probe.phi, phi_test) from the filter and the profile.
 */
void index_probe_ask_phi(struct index_probe *probe);

/*
 * Returns whether one of several messages can still be among the k best. The caller knows that no
 * message of them is more similar than `most`, and that no message is newer than newest_ms. If the
 * function returns false, no message can, not even one that ties with the k-th best.
 */
bool index_probe_may_be_best(const struct index_probe *probe, struct similarity most,
                             int64_t newest_ms);

/*
 * The same, if the caller knows that the cardinalities lie between `low` and `high`, that no
 * message shares more than `shared` bits with the query's filter, and that no message is newer than
 * newest_ms. If the function returns true, there need not be such a message. docs/tree.md has the
 * proof.
 */
bool index_probe_may_hold(const struct index_probe *probe, uint32_t low, uint32_t high,
                          uint32_t shared, int64_t newest_ms);

/*
 * The same with the metric phi: none of the messages has a floor (phi_floor) above `floor`, which
 * the caller has compared to index_probe_floor. 0 means that phi is 0 for all of them; 2^15
 * means that nothing is known.
 */
bool index_probe_may_reach(const struct index_probe *probe, uint32_t floor, int64_t newest_ms);

struct index_engine {
    const char *name;

    int (*create)(const struct index_options *options, void **out_engine); /* 0, -ERR_NOMEM */
    void (*destroy)(void *engine);                                         /* NULL is fine */

    int (*insert)(void *engine, const struct index_item *item, const uint64_t *filter);
    int (*remove)(void *engine, const uint8_t *id, struct index_item *out_item);
    /* See index_shift. Adds the ids of the messages to `notes`; NULL: no renewal is running. */
    void (*shift)(void *engine, int64_t from_ms, int64_t by_ms, struct notes *notes);
    int (*find)(const void *engine, const uint8_t *id, struct index_item *out_item,
                uint64_t *out_filter);
    int (*expect)(void *engine, size_t count); /* see index_expect; NULL: it makes no room */
    size_t (*count)(const void *engine);
    size_t (*places)(
        const void *engine); /* all places are below this number: see index_probe_offer */
    size_t (*bytes)(const void *engine);
    uint32_t (*height)(const void *engine);    /* NULL: 1 */
    int64_t (*soonest_ms)(const void *engine); /* see index_soonest_ms */

    /* Arranges the messages: see index_arrange. NULL: the engine does not arrange messages. */
    int (*arrange)(void *engine, const struct index_stop *stop);
    void (*wear)(const void *engine, struct index_wear *out_wear); /* NULL: there is none */

    /*
     * A cursor walks over the engine's messages for one part of a query (struct index_part: one
     * filter, one index). cursor_step returns 0 (end) or INDEX_MORE.
     *
     * If probe->first_look is true, an engine that knows where its best messages are may offer some
     * of them, set first_look to false, set `promise` to the upper bound of the other messages, and
     * return. All parts of a search share the list of the k best. So good messages that one part
     * finds early let the other parts skip more messages.
     */
    int (*cursor_new)(void *engine, const struct alloc *alloc, void **out_cursor);
    void (*cursor_free)(void *engine, void *cursor);
    void (*cursor_restart)(void *engine, void *cursor);
    int (*cursor_step)(void *engine, void *cursor, struct index_probe *probe, uint64_t budget);

    /*
     * Copies the next messages, at most INDEX_COPY_MAX, to the arrays; the filters follow one
     * another. A cursor that is used for cursor_copy must not be used for cursor_step. Returns 0 at
     * the end, or INDEX_MORE. NULL in an engine without `arrange`.
     */
    int (*cursor_copy)(void *engine, void *cursor, struct index_item *out_items,
                       uint64_t *out_filters, size_t *out_count);

    /* See index_walk_visit and index_mark. NULL in an engine without `arrange`. */
    int (*cursor_visit)(void *engine, void *cursor, index_visit *visit, void *context);
    void (*mark)(void *engine, uint32_t place, uint32_t mark);
};
