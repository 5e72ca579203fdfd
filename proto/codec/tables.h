/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_tables: the tables that proto/generate.py makes from the schema. Only the codec uses this
 * file.
 */
#ifndef PROTO_CODEC_TABLES_H
#define PROTO_CODEC_TABLES_H

#include "proto/codec/map.h"
#include "proto/codec/scan.h"

/* The bodies of the envelopes, with the tables of their fields. */
extern const struct map_bodies codec_request_bodies;
extern const struct map_bodies codec_response_bodies;
extern const struct map_bodies codec_letter_bodies;

/* The fields of Request itself but its id, as if they were a body. */
extern const struct map_body codec_request_asker;

/* Has a row for every repeated field: the most entries of the field. */
extern const struct scan_count codec_counts[];
extern const size_t codec_count_count;

#endif
