/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_query: the tables of fields for messages that requests and responses both have. Only the
 * codec uses this file.
 */
#ifndef PROTO_CODEC_QUERY_H
#define PROTO_CODEC_QUERY_H

#include "proto/codec/map.h"

extern const struct map codec_error_map;
extern const struct map codec_query_map;
/* The query of a watch does not need k. The handler refuses a watch whose k is not 0. */
extern const struct map codec_watch_query_map;
extern const struct map codec_house_notice_map;
extern const struct map codec_result_map;
extern const struct map codec_results_map;
extern const struct map codec_summary_group_map; /* letters have it, too */

/* As MAP_LIST, with a table of this header. */
#define QUERY_LIST(Wire, own, field, count, Entry, entry)                                         \
    MAP_REPEATED(MAP_LIST, Wire, Hearsay__V1__##Entry **, own, const struct msg_##entry *, field, \
                 count, size_t),                                                                  \
        .inner = &codec_##entry##_map

#endif
