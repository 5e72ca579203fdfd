/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topics: the topics that a place offers to read and to leave with, and which of them a message was
 * left with. hearsayd stores no topics, only the filter of all labels of a message, so the answer
 * is a guess. It errs towards showing none: of 1,000 messages at most one gets a wrong topic.
 */
#pragma once

#include "client/hearsay.h"

enum {
    TOPICS_MAX = 20,
    TOPICS_CHARACTERS_MAX = 24, /* of one topic */
    TOPICS_TEXT_BYTES = 4 * TOPICS_CHARACTERS_MAX + 1,
    TOPICS_WHY_BYTES = 240
};

struct topic {
    char text[TOPICS_TEXT_BYTES];       /* as the operator wrote it */
    char normalised[TOPICS_TEXT_BYTES]; /* as in a view, and behind "topic:" in its label */
};

struct topics {
    struct topic all[TOPICS_MAX];
    size_t count;
};

/*
 * Reads topics with commas between, such as `coffee, lost+found`. True, or false with a sentence in
 * out_why (TOPICS_WHY_BYTES) that says what is wrong and what would be right: a topic is empty, too
 * long, none at all or there twice, or there are too many.
 */
bool topics_read(const char *text, struct topics *out_topics, char *out_why);

/* What finds the topics of messages of a host. `place`: the labels of the place, a line feed behind
 * each, as of struct view. Owned: free. NULL: there are no topics, or no memory, or the profile of
 * the host takes none. Borrows all three. */
struct topics_finder;
struct topics_finder *topics_finder_new(const struct topics *topics,
                                        const struct hearsay_host *host, const char *place);

/*
 * Returns a bit 1 << i for each topic i that a message was left with, as far as its filter, its
 * epoch and the time at which it was left tell. 0 without a finder, without a filter, and with a
 * filter of another size or under another key.
 */
uint32_t topics_find(struct topics_finder *finder, const struct hearsay_result *message);
