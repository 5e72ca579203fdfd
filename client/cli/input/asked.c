/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_BYTES = 32 }; /* on the wire, besides filters; generously */

static int asked_fail(struct hearsay_error *error, int status, const char *sentence)
{
    *error = (struct hearsay_error){.status = status};
    (void)snprintf(error->sentence, sizeof(error->sentence), "%s", sentence);
    return status;
}

/*
 * Makes the next part of the query, keyed with the key of `epoch`; NULL is the open epoch, which
 * has no key. With recent contexts, makes no part if the filter would have no bits.
 */
static int make_part(struct asked *asked, const struct asked_from *from,
                     const struct hearsay_epoch *epoch, bool *out_about_contains,
                     struct hearsay_error *error)
{
    struct hearsay_keys keys = {.group = from->group,
                                .epoch_key = epoch != NULL ? epoch->key : NULL};
    struct hearsay_encode context = {.host = from->host, .keys = &keys};
    struct hearsay_query_part *part = &asked->parts[asked->part_count];
    struct hearsay_filter *filter = &asked->filters[2 * asked->part_count];
    struct hearsay_filter *contains = filter + 1;
    int status = HEARSAY_OK;
    memset(part, 0, sizeof(*part));
    memset(filter, 0, 2 * sizeof(*filter));
    if (from->label_count > 0 || from->lately == NULL) {
        context.labels = from->labels;
        context.label_count = from->label_count;
        status = hearsay_encode(&context, filter, error);
    }
    if (status == HEARSAY_OK && from->lately != NULL) {
        status = hearsay_recent_add(from->lately, &keys, filter, error);
    }
    if (status == HEARSAY_OK && from->lately != NULL &&
        cli_count_bits(hearsay_filter_bytes(filter)) == 0) {
        return HEARSAY_OK;
    }
    part->epoch = epoch != NULL ? epoch->number : 0;
    part->filter = hearsay_filter_bytes(filter);
    if (status == HEARSAY_OK && from->contains_count > 0) {
        *out_about_contains = true;
        context.labels = from->contains;
        context.label_count = from->contains_count;
        status = hearsay_encode(&context, contains, error);
        part->contains = hearsay_filter_bytes(contains);
    }
    asked->part_count++;
    return status;
}

/*
 * Returns the largest number of parts: as many as the server allows and as fit in two thirds of a
 * frame, but at least one.
 */
static size_t parts_most(const struct hearsay *server, const struct asked *asked)
{
    const struct hearsay_limits *limits = &hearsay_welcome(server)->limits;
    const struct hearsay_query_part *first = &asked->parts[0];
    size_t one = first->filter.count + first->contains.count + PART_BYTES;
    size_t frame_bytes = limits->frame_bytes != 0 ? limits->frame_bytes : 4096;
    size_t most = frame_bytes * 2 / 3 / one;
    if (limits->parts_max != 0 && most > limits->parts_max) {
        most = limits->parts_max;
    }
    return most > 0 ? most : 1;
}

int asked_make(struct asked *asked, const struct hearsay *server, const struct asked_from *from,
               struct hearsay_query *query, bool *out_about_contains,
               struct hearsay_error *out_error)
{
    size_t known = from->epochs->known_count;
    bool open = from->epochs->open || known == 0;
    size_t next = 0;
    memset(asked, 0, sizeof(*asked));
    *out_about_contains = false;
    asked->filters = calloc(2 * (known + 1), sizeof(*asked->filters));
    if (asked->filters == NULL) {
        return asked_fail(out_error, HEARSAY_ERR_NOMEM, "out of memory");
    }
    int status = make_part(asked, from, open ? NULL : &from->epochs->known[next++],
                           out_about_contains, out_error);
    while (status == HEARSAY_OK && next < known &&
           (asked->part_count == 0 || asked->part_count < parts_most(server, asked))) {
        status =
            make_part(asked, from, &from->epochs->known[next++], out_about_contains, out_error);
    }
    if (status == HEARSAY_OK && asked->part_count == 0) {
        status = asked_fail(out_error, HEARSAY_ERR_ARGUMENT, "the memory is empty");
    }
    query->parts = asked->parts;
    query->part_count = asked->part_count;
    return status;
}

void asked_free(struct asked *asked)
{
    free(asked->filters);
    memset(asked, 0, sizeof(*asked));
}
