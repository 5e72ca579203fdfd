/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/similar.h"

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/expiry.h"
#include "core/index/pieces.h"

enum {
    VISIT_UNITS = SIMILAR_UNITS / INDEX_COPY_MAX, /* units of work for a visit of one message */
    SEARCH_UNITS = 1024,                          /* to begin a search */
    TAKEN_MAX = 2048,                             /* messages of `taken` */
    /*
     * The pieces find all twins of a message unless it is large. One of so many messages, at most,
     * is large.
     */
    LARGE_SHARE = 64,
    APART_MORE = PIECES_MAX /* what most_apart returns for more bits than pieces find */
};

/* The mark of a message (index_item.mark). */
enum {
    MARK_NONE,    /* the message has come meanwhile */
    MARK_PART,    /* the run looks at it */
    MARK_MAY,     /* it may have another message within the distance; only with pieces */
    MARK_GROUPED, /* MARK_GROUPED + n: it lies within the distance of the oldest message of group n,
                   * and of no later group */
};

enum phase {
    PHASE_CLEAR, /* clears the marks of earlier runs */
    PHASE_PART,  /* marks all messages */
    PHASE_ADD,   /* adds messages to the round of the pieces */
    PHASE_ASK,   /* marks those that have a twin in the round */
    PHASE_TAKE,  /* takes the oldest messages that may begin a group */
    PHASE_FIND,  /* finds their groups */
    PHASE_DONE
};

struct similar {
    struct similar_options options;
    struct similar_list *list;
    uint64_t source;
    int64_t now_ms;
    void *walk;
    enum phase phase;
    size_t messages;
    uint64_t apart[APART_MORE + 1]; /* number of messages for which most_apart returns 0, 1, ... */
    uint64_t work;                  /* units done in this step */
    struct pieces pieces;           /* PHASE_ADD, PHASE_ASK */
    bool pieces_failed;             /* the table is full */
    bool knows_alone; /* a message with MARK_PART is alone: it has no other within the distance */

    /* TAKE: a heap with the newest message on top. FIND: in ascending order */
    struct similar_message *taken; /* TAKEN_MAX */
    size_t taken_count;
    size_t taken_at;             /* FIND: the next one */
    struct index_search *search; /* for the group; NULL: between two groups */
    uint32_t mark;               /* of the messages of the group */
    struct similar_group group;
    uint64_t filter[PROFILE_WORDS_MAX]; /* of its oldest message */
};

/* --- order ------------------------------------------------------------------------------------ */

/* Whether message a is taken before message b. */
static bool is_before(const struct similar_message *a, const struct similar_message *b)
{
    return a->deposited_ms != b->deposited_ms ? a->deposited_ms < b->deposited_ms
                                              : memcmp(a->id, b->id, MESSAGE_ID_BYTES) < 0;
}

/* --- the largest groups ----------------------------------------------------------------------- */

static bool is_larger(const struct similar_group *a, const struct similar_group *b)
{
    return a->count != b->count ? a->count > b->count : is_before(&a->oldest, &b->oldest);
}

/* The heap has the smallest group on top. */
static void sift_group(struct similar_list *list, size_t place, size_t count)
{
    struct similar_group moved = list->groups[place];
    size_t child = 2 * place + 1;

    while (child < count) {
        if (child + 1 < count && is_larger(&list->groups[child], &list->groups[child + 1])) {
            child++;
        }
        if (!is_larger(&moved, &list->groups[child])) {
            break;
        }
        list->groups[place] = list->groups[child];
        place = child;
        child = 2 * child + 1;
    }
    list->groups[place] = moved;
}

static void list_group(struct similar_list *list, const struct similar_group *group)
{
    list->total++;
    if (list->count < list->limit) {
        size_t place = list->count++;

        while (place > 0 && is_larger(&list->groups[(place - 1) / 2], group)) {
            list->groups[place] = list->groups[(place - 1) / 2];
            place = (place - 1) / 2;
        }
        list->groups[place] = *group;
    } else if (is_larger(group, &list->groups[0])) {
        list->groups[0] = *group;
        sift_group(list, 0, list->count);
    }
}

void similar_list_sort(struct similar_list *list)
{
    for (size_t left = list->count; left > 1; left--) {
        struct similar_group smallest = list->groups[0];

        list->groups[0] = list->groups[left - 1];
        sift_group(list, 0, left - 1);
        list->groups[left - 1] = smallest;
    }
}

/*
 * Returns an upper bound of the number of bits in which a filter with so many set bits differs from
 * a filter within the distance that has as many set bits or more; at most APART_MORE.
 * Let x be the smaller filter, D the number of differing bits, d the distance. The union has
 * |x| + D bits at most, so D <= d (|x| + D), that is D <= |x| d / (1 - d).
 */
static uint32_t most_apart(const struct similar *similar, uint32_t cardinality)
{
    uint64_t within = similar->options.within_ppm;

    if (within >= DISTANCE_ONE_PPM) {
        return APART_MORE;
    }
    uint64_t apart = within * cardinality / (DISTANCE_ONE_PPM - within);
    return apart < APART_MORE ? (uint32_t)apart : APART_MORE;
}

/* --- a run ------------------------------------------------------------------------------------ */

int similar_new(const struct similar_options *options, struct similar_list *list, uint64_t source,
                struct similar **out_similar)
{
    struct similar *similar = alloc_zeroed(options->alloc, 1, sizeof(*similar));

    if (similar == NULL) {
        return -ERR_NOMEM;
    }
    similar->options = *options;
    similar->list = list;
    similar->source = source;
    similar->mark = MARK_GROUPED;
    similar->taken = alloc_array(options->alloc, TAKEN_MAX, sizeof(*similar->taken));
    if (similar->taken == NULL || index_walk_new(options->index, &similar->walk) != 0) {
        similar_free(similar);
        return -ERR_NOMEM;
    }
    *out_similar = similar;
    return 0;
}

void similar_free(struct similar *similar)
{
    if (similar == NULL) {
        return;
    }
    const struct alloc *alloc = similar->options.alloc;

    index_search_free(similar->search);
    if (similar->walk != NULL) {
        index_walk_free(similar->options.index, similar->walk);
    }
    pieces_deinit(&similar->pieces);
    alloc_release(alloc, similar->taken);
    alloc_release(alloc, similar);
}

uint64_t similar_messages(const struct similar *similar)
{
    return similar->messages;
}

static_assert(sizeof(struct similar) + TAKEN_MAX * sizeof(struct similar_message) +
                      PIECES_ENTRIES_MAX * PIECES_ENTRY_BYTES <=
                  SIMILAR_BYTES_MAX,
              "the bound of similar.h");

/* Visits the next messages. Returns whether there are more; else the walk is at its beginning. */
static bool visit_some(struct similar *similar, index_visit *visit)
{
    struct index *index = similar->options.index;

    if (index_walk_visit(index, similar->walk, visit, similar) == INDEX_MORE) {
        return true;
    }
    index_walk_restart(index, similar->walk);
    return false;
}

/* --- which messages are alone ----------------------------------------------------------------- */

static void clear_mark(void *context, struct index_item *item, uint32_t cardinality,
                       const uint64_t *filter, size_t stride)
{
    struct similar *similar = context;

    (void)cardinality;
    (void)filter;
    (void)stride;
    item->mark = MARK_NONE;
    similar->work += VISIT_UNITS;
}

static void mark_part(void *context, struct index_item *item, uint32_t cardinality,
                      const uint64_t *filter, size_t stride)
{
    struct similar *similar = context;

    (void)filter;
    (void)stride;
    similar->work += VISIT_UNITS;
    if (item->mark == MARK_NONE && !message_expired(item->expires_ms, similar->now_ms)) {
        item->mark = MARK_PART;
        similar->messages++;
        similar->apart[most_apart(similar, cardinality)]++;
    }
}

static void add_to_round(void *context, struct index_item *item, uint32_t cardinality,
                         const uint64_t *filter, size_t stride)
{
    struct similar *similar = context;

    similar->work += VISIT_UNITS;
    if (item->mark == MARK_NONE) {
        return;
    }
    if (most_apart(similar, cardinality) > similar->pieces.apart) {
        item->mark = MARK_MAY; /* large */
    }
    similar->pieces_failed |= !pieces_add(&similar->pieces, filter, stride);
}

static void ask_round(void *context, struct index_item *item, uint32_t cardinality,
                      const uint64_t *filter, size_t stride)
{
    struct similar *similar = context;

    (void)cardinality;
    similar->work += VISIT_UNITS;
    if (item->mark == MARK_PART && pieces_have_twin(&similar->pieces, filter, stride)) {
        item->mark = MARK_MAY;
    }
}

/*
 * Returns the smallest number of differing bits with few large messages. A message is large if it
 * may differ from one within the distance that has as many set bits or more in more bits than this.
 * Of two such messages of which one is not large, the one with fewer set bits is not large, so the
 * pieces find both.
 */
static uint32_t choose_apart(const struct similar *similar)
{
    uint64_t large = similar->messages;

    for (uint32_t apart = 0; apart < APART_MORE; apart++) {
        large -= similar->apart[apart];
        if (large <= similar->messages / LARGE_SHARE) {
            return apart;
        }
    }
    return APART_MORE;
}

/* All messages are marked. Returns 0 or -ERR_NOMEM. */
static int begin_pieces(struct similar *similar)
{
    const struct similar_options *options = &similar->options;
    uint32_t apart = choose_apart(similar);

    similar->phase = PHASE_TAKE;
    if (!pieces_help(options->bits, apart, similar->messages)) {
        return 0;
    }
    similar->phase = PHASE_ADD;
    return pieces_init(&similar->pieces, options->alloc, options->bits, apart, similar->messages,
                       options->seed);
}

/* A round is over. */
static void end_round(struct similar *similar)
{
    similar->phase = PHASE_ADD;
    if (!pieces_next_round(&similar->pieces)) {
        similar->knows_alone = true;
        similar->phase = PHASE_TAKE;
        pieces_deinit(&similar->pieces);
    }
}

/* The pieces take too long, or too much memory: any message may begin a group. */
static void give_up_pieces(struct similar *similar)
{
    index_walk_restart(similar->options.index, similar->walk);
    similar->phase = PHASE_TAKE;
    pieces_deinit(&similar->pieces);
}

/* --- which messages begin groups -------------------------------------------------------------- */

static bool may_begin(const struct similar *similar, uint32_t mark)
{
    return mark == MARK_MAY || (mark == MARK_PART && !similar->knows_alone);
}

/* Moves a message down from a place of the heap, the newest on top, to where it belongs. */
static void sift_taken(struct similar *similar, size_t place, size_t count,
                       struct similar_message moved)
{
    struct similar_message *taken = similar->taken;
    size_t child = 2 * place + 1;

    while (child < count) {
        if (child + 1 < count && is_before(&taken[child], &taken[child + 1])) {
            child++;
        }
        if (!is_before(&moved, &taken[child])) {
            break;
        }
        taken[place] = taken[child];
        place = child;
        child = 2 * child + 1;
    }
    taken[place] = moved;
}

/* Keeps the message if it is among the oldest. If a walk visits a message twice, `taken` may have
 * it twice: the second time, the message is in a group. */
static void take_oldest(void *context, struct index_item *item, uint32_t cardinality,
                        const uint64_t *filter, size_t stride)
{
    struct similar *similar = context;
    struct similar_message message = {.deposited_ms = item->deposited_ms};

    (void)cardinality;
    (void)filter;
    (void)stride;
    similar->work += VISIT_UNITS;
    if (!may_begin(similar, item->mark) || message_expired(item->expires_ms, similar->now_ms)) {
        return;
    }
    memcpy(message.id, item->id, MESSAGE_ID_BYTES);
    if (similar->taken_count < TAKEN_MAX) {
        size_t place = similar->taken_count++;

        while (place > 0 && is_before(&similar->taken[(place - 1) / 2], &message)) {
            similar->taken[place] = similar->taken[(place - 1) / 2];
            place = (place - 1) / 2;
        }
        similar->taken[place] = message;
    } else if (is_before(&message, &similar->taken[0])) {
        sift_taken(similar, 0, TAKEN_MAX, message);
    }
}

static void sort_taken(struct similar *similar)
{
    for (size_t left = similar->taken_count; left > 1; left--) {
        struct similar_message newest = similar->taken[0];

        sift_taken(similar, 0, left - 1, similar->taken[left - 1]);
        similar->taken[left - 1] = newest;
    }
    similar->taken_at = 0;
    similar->phase = similar->taken_count > 0 ? PHASE_FIND : PHASE_DONE;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* A message within the distance. */
static void join_group(void *context, const struct index_item *item, uint32_t place)
{
    struct similar *similar = context;
    struct similar_message message = {.deposited_ms = item->deposited_ms};

    if (item->mark == MARK_NONE || item->mark == similar->mark) {
        return; /* it has come meanwhile, or is found again */
    }
    index_mark(similar->options.index, place, similar->mark);
    memcpy(message.id, item->id, MESSAGE_ID_BYTES);
    if (similar->group.count++ == 0 || is_before(&similar->group.newest, &message)) {
        similar->group.newest = message;
    }
}

/* Begins a group with the next message, if the message is there and in no group. Returns 0 or
 * -ERR_NOMEM. */
static int begin_group(struct similar *similar)
{
    const struct similar_message *first = &similar->taken[similar->taken_at++];
    struct index_part part = {.index = similar->options.index, .filter = similar->filter};
    struct index_query query = {
        .parts = &part,
        .part_count = 1,
        .k = 1,
        .max_distance_ppm = similar->options.within_ppm,
        .since_ms = INT64_MIN,
        .until_ms = INT64_MAX,
        .found = join_group,
        .found_context = similar,
    };
    struct index_item item;

    similar->work += VISIT_UNITS;
    if (index_find(part.index, first->id, &item, similar->filter) != 0 ||
        !may_begin(similar, item.mark) || message_expired(item.expires_ms, similar->now_ms)) {
        return 0;
    }
    similar->group = (struct similar_group){.oldest = *first, .source = similar->source};
    similar->work += SEARCH_UNITS;
    return index_search_new(similar->options.alloc, &query, &similar->search);
}

static void end_group(struct similar *similar)
{
    index_search_free(similar->search);
    similar->search = NULL;
    similar->mark++;
    if (similar->group.count > 1) {
        list_group(similar->list, &similar->group);
    }
}

/* Goes on with the group that is being found, or begins the next one. Returns 0 or -ERR_NOMEM. */
static int find_next(struct similar *similar, uint64_t budget)
{
    if (similar->search != NULL) {
        uint64_t before = index_search_comparisons(similar->search);
        uint64_t left = budget - similar->work;
        bool is_done = index_search_step(similar->search, left, similar->now_ms) == 0;

        similar->work += index_search_comparisons(similar->search) - before;
        if (is_done) {
            end_group(similar);
        }
        return 0;
    }
    if (similar->taken_at < similar->taken_count) {
        return begin_group(similar);
    }
    similar->phase = similar->taken_count == TAKEN_MAX ? PHASE_TAKE : PHASE_DONE;
    similar->taken_count = 0;
    return 0;
}

/* Does one piece of work. Returns 0 or -ERR_NOMEM. */
static int do_next(struct similar *similar, uint64_t budget)
{
    switch (similar->phase) {
    case PHASE_CLEAR:
        similar->phase = visit_some(similar, clear_mark) ? PHASE_CLEAR : PHASE_PART;
        return 0;
    case PHASE_PART:
        return visit_some(similar, mark_part) ? 0 : begin_pieces(similar);
    case PHASE_ADD:
        similar->phase = visit_some(similar, add_to_round) ? PHASE_ADD : PHASE_ASK;
        break;
    case PHASE_ASK:
        if (!visit_some(similar, ask_round)) {
            end_round(similar);
        }
        break;
    case PHASE_TAKE:
        if (!visit_some(similar, take_oldest)) {
            sort_taken(similar);
        }
        return 0;
    default:
        return find_next(similar, budget);
    }
    if (similar->pieces_failed || pieces_are_futile(&similar->pieces)) {
        give_up_pieces(similar);
    }
    return 0;
}

int similar_step(struct similar *similar, uint64_t budget, int64_t now_ms)
{
    int rc = 0;

    similar->work = 0;
    similar->now_ms = now_ms;
    while (rc == 0 && similar->work < budget && similar->phase != PHASE_DONE) {
        rc = do_next(similar, budget);
    }
    return rc != 0 ? rc : similar->phase == PHASE_DONE ? 0 : SIMILAR_MORE;
}
