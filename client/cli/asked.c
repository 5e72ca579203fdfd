/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/asked.h"

#include <string.h>

static void blend(struct hearsay_filter *filter, const struct hearsay_filter *more)
{
    filter->bits = more->bits;
    filter->byte_count = more->byte_count;
    for (uint32_t i = 0; i < more->byte_count; i++) {
        filter->bytes[i] |= more->bytes[i];
    }
}

int asked_make(struct asked *asked, const struct hearsay *server, const struct asked_from *from,
               struct hearsay_query *query, bool *out_about_contains,
               struct hearsay_error *out_error)
{
    const struct hearsay_keys keys = {.group = from->group};
    memset(asked, 0, sizeof(*asked));
    *out_about_contains = false;
    asked->part.filter = &asked->filter;
    int status = HEARSAY_OK;
    if (from->label_count > 0 || from->blended == NULL) {
        status = hearsay_encode_keyed(server, from->host->name, &keys, from->labels,
                                      from->label_count, &asked->filter, out_error);
    }
    if (status == HEARSAY_OK && from->blended != NULL) {
        blend(&asked->filter, from->blended);
    }
    if (status == HEARSAY_OK && from->contains_count > 0) {
        *out_about_contains = true;
        asked->part.contains = &asked->contains;
        status = hearsay_encode_keyed(server, from->host->name, &keys, from->contains,
                                      from->contains_count, &asked->contains, out_error);
    }
    query->parts = &asked->part;
    query->part_count = 1;
    return status;
}
