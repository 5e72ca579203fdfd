/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hood_data: messages of many access points, and queries, for `hearsay-bench hood`.
 *
 * UJIIndoorLoc: each row of training.tsv.gz is a message at the access point that the phone saw
 * with the most strength; each row of validation.tsv.gz is a query at such an access point. Campus:
 * 2,000 places of 30 access points each, two places at each of 1,000 hosts, 100,000 messages.
 */
#pragma once

#include "tests/bench/filters.h"

/* What a set of contexts is made of. */
struct hood_kind {
    const char *key;     /* for programs */
    const char *text;    /* for people */
    const char *profile; /* in text form */
    bool graded;         /* labels by strength: docs/contexts.md */
    bool noise;          /* and 1 to 3 topics (Zipf) and an hour */
    bool by_phi;         /* the metric of the queries; else bits */
};

struct hood_data {
    struct profile profile;
    size_t words;
    struct filters_array stored;
    struct filters_array queries;
    uint32_t *peers; /* of each message: its host, below peer_count; owned */
    uint32_t *homes; /* of each query: the host that asks; owned */
    uint32_t peer_count;
};

/*
 * Reads DIRECTORY/training.tsv.gz and validation.tsv.gz, or makes the campus up. Return 0, or -1
 * after a message on standard error. Call hood_data_deinit in both cases.
 */
int hood_data_read(const char *directory, const struct hood_kind *kind, struct hood_data *out);
int hood_data_campus(struct hood_data *out);
void hood_data_deinit(struct hood_data *data);
