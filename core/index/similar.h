/* SPDX-License-Identifier: Apache-2.0 */
/*
 * similar: groups of near-duplicates among many messages, for an operator who looks for floods.
 *
 * Take the messages from the oldest to the newest (of equal times the smaller id first). A message
 * begins a group unless it lies within the distance of the oldest message of an earlier group. The
 * group has all messages that lie within the distance of its oldest message. A message may belong
 * to several groups. A group of one message is left out.
 *
 *   within 0.2   A -- 0.1 -- B -- 0.15 -- C -- 0.1 -- D      distances, A is the oldest
 *   groups       {A, B} of A, {B, C, D} of C
 *
 * The distance is the bit distance (Jaccard). The messages are those of an index, which is also the
 * structure that is searched: no message is copied. A number in each message (index_item.mark) says
 * whether the message is in a group. First, pieces.h finds the messages that are alone, if this
 * saves time. Then the oldest messages that may begin a group are taken, some thousands at a time;
 * for each of them the index finds all messages within the distance.
 *
 * The groups have the messages that are in the index when the second step of the run begins to go
 * through them. A message that is removed or expires during the run may or may not count; later
 * messages do not count. This file has no threads: the caller decides how much work a step does.
 */
#pragma once

#include "core/index/index.h"

struct similar;

enum { SIMILAR_MORE = 1 }; /* similar_step: not done, call again */

struct similar_options {
    const struct alloc *alloc; /* borrowed, must outlive the object */
    struct index *index;       /* borrowed; see similar_new */
    uint32_t bits;             /* m of the filters */
    uint32_t within_ppm;       /* the distance in millionths, inclusive */
    uint64_t seed;             /* random, because peers choose filters */
};

struct similar_message {
    int64_t deposited_ms;
    uint8_t id[MESSAGE_ID_BYTES];
};

/* In its group, the messages are in the order in which they are taken. */
struct similar_group {
    struct similar_message oldest; /* the group is the messages within the distance of this one */
    struct similar_message newest; /* the last of the group */
    uint64_t count;                /* of messages in the group; at least 2 */
    uint64_t source;               /* the number that similar_new was given */
};

/*
 * The largest groups of one or several runs: more messages first; if equal, the one whose oldest
 * message is older; if equal, the smaller id. The caller provides the memory.
 */
struct similar_list {
    struct similar_group *groups; /* `limit` elements, borrowed; a heap until similar_list_sort */
    size_t limit;                 /* at least 1 */
    size_t count;
    uint64_t total; /* of all groups found, with those that are not among the largest */
};

/* Sorts the groups, the largest first. No run may add groups afterwards. O(count log count) */
void similar_list_sort(struct similar_list *list);

/*
 * Makes a run over the messages of an index. Until similar_free, no renewal of the index may run,
 * its times may not be shifted (index_shift), and no other run may use the index. The run adds its
 * groups to `list` (borrowed), with the number `source`. Returns 0 or -ERR_NOMEM.
 */
int similar_new(const struct similar_options *options, struct similar_list *list, uint64_t source,
                struct similar **out_similar);
void similar_free(struct similar *similar); /* at any time; NULL is fine */

/*
 * Goes on for about `budget` units of work. A unit takes about as long as a comparison in
 * index_search_step; the smallest piece of work has up to SIMILAR_UNITS units. Messages that expire
 * at or before now_ms do not count. Returns 0 when all groups are in the list, SIMILAR_MORE, or
 * -ERR_NOMEM: then the caller may only free the object.
 */
enum { SIMILAR_UNITS = 8 * INDEX_COPY_MAX };
int similar_step(struct similar *similar, uint64_t budget, int64_t now_ms);

/* Returns the number of messages that the run looks at. Final after similar_step returned 0. */
uint64_t similar_messages(const struct similar *similar);

/*
 * The most bytes of memory that the object holds, without the search of the index under way. With
 * pieces.h, at most 16 bytes for each entry of its table and 5/4 entries a message.
 */
enum { SIMILAR_BYTES_MAX = 1200 * 1024 };
