/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject: the names of what is at the hub. There are SUBJECT_SHARDS shards; a host is in the shard
 * that its name gives.
 *
 *   h.SHARD.HOST.ID     the state of a message, one last state each; written by the owner only
 *   h.SHARD.HOST.-      the head of the host: which store owns it, and how far it has published
 *   h.rule.HOST.RULE    the state of a rule of the host; written by the owner only
 *   o.SHARD.HOST.ID     the operator's word about a message; written by bridges at the hub only
 *   o.rule.HOST.RULE    the operator's word about a rule, likewise
 *   o.compare.HOST.READER  READER asks the owner to compare its messages with its own: it was
 *                       without the hub; stored nowhere
 *   r.HOST              requests for pages of the host, answered by bridges of readers
 *   s.HOOD.HOST         summaries of the host for its neighbours, and that it asks for theirs
 *   q.HOOD.HOST         queries for the host, from its neighbours
 *   a.HOOD.HOST.ASKER   the same, as the host's access point hears them. The servers add ASKER,
 *                       the name of the access point that asks: see hub/rights.c, write_queries
 *
 * Streams: h_SHARD has h.SHARD.>, o has o.SHARD.> of all shards, rule has h.rule.> and o.rule.>. An
 * access point uses JetStream's API for one thing only, the head of its own host: subject_get_head.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SUBJECT_SHARDS = 16, SUBJECT_BYTES = 256 };

/* The shard of a host: XXH3-64 of its name modulo SUBJECT_SHARDS. */
unsigned subject_shard(const char *host);

/* All write to out (SUBJECT_BYTES). `id` has LIMIT_ID_BYTES. A rule is named by its kind and value.
 */
void subject_state(const char *host, const uint8_t *id, char *out);
void subject_rule(const char *host, uint32_t kind, const uint8_t *value, size_t value_bytes,
                  char *out);
void subject_head(const char *host, char *out);
bool subject_is_head(const char *subject);
void subject_word(const char *host, const uint8_t *id, char *out);
void subject_words(const char *host, char *out);      /* all of a host: o.SHARD.HOST.> */
void subject_rule_words(const char *host, char *out); /* o.rule.HOST.> */
void subject_rule_word(const char *host, uint32_t kind, const uint8_t *value, size_t value_bytes,
                       char *out);
void subject_compare(const char *host, const char *reader, char *out); /* reader "*": of all */
void subject_pages(const char *host, char *out);                       /* r.HOST */
void subject_summary(const char *hood, const char *host, char *out);
void subject_query(const char *hood, const char *host, char *out); /* to send a query to */
void subject_asked(const char *hood, const char *host, char *out); /* to hear queries on */

/* The access point that asks, by the subject that its query came with. Borrowed as the subject. */
const char *subject_asker(const char *subject);

/* The stream of a host's states. */
void subject_stream(const char *host, char *out);

/* Where the last message of the head's subject is asked for: JetStream's direct get. The streams
 * h_SHARD must have allow_direct. */
void subject_get_head(const char *host, char *out);
