/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/letter.h"

#include <string.h>

#include "proto/bridge.pb-c.h"
#include "proto/codec/envelope.h"
#include "proto/codec/feed.h"
#include "proto/codec/form.h"
#include "proto/codec/map.h"
#include "proto/codec/query.h"

static const struct map_field head_fields[] = {
    {MAP_FIELD(BYTES, Head, head, store_id), .needed = true,
     MAP_RANGE(LIMIT_ID_BYTES, LIMIT_ID_BYTES)},
    {MAP_FIELD(U64, Head, head, seq)},
    {MAP_FIELD(TEXT, Head, head, profile), MAP_RANGE(1, LIMIT_PROFILE_BYTES)},
    {MAP_FIELD(I64, Head, head, as_of_ms)},
    {MAP_FIELD(BOOL, Head, head, is_taken)},
    {MAP_FIELD(U64, Head, head, term)},
};
static const struct map head_map = MAP_OF("a head", head, head);

static const struct map_field page_ask_fields[] = {
    {MAP_ENUM(PageAsk, page_ask, kind, PageKind, page_kind), .needed = true,
     MAP_RANGE(MSG_PAGE_STATES, MSG_PAGE_DIGEST)},
    {MAP_FIELD(U64, PageAsk, page_ask, after)},
    {MAP_FIELD(U32, PageAsk, page_ask, limit)},
    {MAP_FIELD(I64, PageAsk, page_ask, deposited_before_ms)},
    {MAP_FIELD(I64, PageAsk, page_ask, expires_after_ms)},
    {MAP_FIELD(TEXT, PageAsk, page_ask, reader), MAP_RANGE(1, LIMIT_HOST_BYTES),
     .form = &codec_form_host},
};
static const struct map page_ask_map = MAP_OF("a request for a page", page_ask, page_ask);

static const struct map_field page_fields[] = {
    {QUERY_LIST(Page, page, changes, change_count, Change, change)},
    {MAP_FIELD(U64, Page, page, next)},
    {MAP_FIELD(BOOL, Page, page, more)},
    {MAP_FIELD(U64, Page, page, count)},
    {MAP_FIELD(U64, Page, page, digest)},
};
static const struct map page_map = MAP_OF("a page", page, page);

static const struct map_field peer_summary_fields[] = {
    {MAP_FIELD(BYTES, PeerSummary, peer_summary, store_id), .needed = true,
     MAP_RANGE(LIMIT_ID_BYTES, LIMIT_ID_BYTES)},
    {MAP_FIELD(U64, PeerSummary, peer_summary, seq)},
    {MAP_FIELD(U64, PeerSummary, peer_summary, after)},
    {MAP_FIELD(I64, PeerSummary, peer_summary, as_of_ms)},
    {MAP_FIELD(I64, PeerSummary, peer_summary, newest_ms), .absent = INT64_MIN},
    {MAP_FIELD(BOOL, PeerSummary, peer_summary, full)},
    {MAP_FIELD(TEXT, PeerSummary, peer_summary, profile), .needed = true,
     MAP_RANGE(1, LIMIT_PROFILE_BYTES)},
    {QUERY_LIST(PeerSummary, peer_summary, groups, group_count, SummaryGroup, summary_group)},
};
static const struct map peer_summary_map = MAP_OF("a peer's summary", peer_summary, peer_summary);

static const struct map_field summary_ask_fields[] = {
    {MAP_FIELD(TEXT, SummaryAsk, summary_ask, host), MAP_RANGE(1, LIMIT_HOST_BYTES),
     .form = &codec_form_host},
};
static const struct map summary_ask_map =
    MAP_OF("a request for a summary", summary_ask, summary_ask);

static const struct map_field peer_query_fields[] = {
    {MAP_INNER(PeerQuery, peer_query, query, Query, query, &codec_query_map), .needed = true},
};
static const struct map peer_query_map = MAP_OF("a peer's query", peer_query, peer_query);

static const struct map_field peer_results_fields[] = {
    {MAP_FIELD(BYTES, PeerResults, peer_results, store_id), .needed = true,
     MAP_RANGE(LIMIT_ID_BYTES, LIMIT_ID_BYTES)},
    {MAP_FIELD(U64, PeerResults, peer_results, seq)},
    {MAP_MAYBE(PeerResults, peer_results, results, has_results, Results, results,
               &codec_results_map)},
};
static const struct map peer_results_map = MAP_OF("a peer's results", peer_results, peer_results);

#define BODY(KIND, map_name, member)                                    \
    {                                                                   \
        MSG_LETTER_##KIND, HEARSAY__V1__LETTER__BODY_##KIND, &map_name, \
            offsetof(struct msg_letter, member), 0                      \
    }

static const struct map_body letter_bodies[] = {
    BODY(HEAD, head_map, head),
    BODY(CHANGE, codec_change_map, change),
    BODY(PAGE_ASK, page_ask_map, page_ask),
    BODY(PAGE, page_map, page),
    BODY(PEER_SUMMARY, peer_summary_map, peer_summary),
    BODY(PEER_QUERY, peer_query_map, peer_query),
    BODY(PEER_RESULTS, peer_results_map, peer_results),
    BODY(SUMMARY_ASK, summary_ask_map, summary_ask),
};

static const struct codec_envelope letter_envelope = {
    .name = "letter",
    .descriptor = &hearsay__v1__letter__descriptor,
    .unknown_most = LIMIT_UNKNOWN_RESPONSE,
    .bodies = letter_bodies,
    .body_count = sizeof(letter_bodies) / sizeof(letter_bodies[0]),
};

int letter_decode(const uint8_t *bytes, size_t length, struct arena *arena, struct msg_letter *out,
                  struct msg_error *out_error)
{
    ProtobufCMessage *message;

    memset(out, 0, sizeof(*out));
    int rv = codec_unpack(&letter_envelope, (struct msg_bytes){bytes, length}, arena, &message,
                          out_error);
    if (rv != 0) {
        return rv;
    }
    const Hearsay__V1__Letter *wire = (const Hearsay__V1__Letter *)(const void *)message;
    if (wire->version != LETTER_VERSION) {
        msg_error_set(out_error, MSG_INVALID, "version", "a letter must have version %d",
                      LETTER_VERSION);
        return CODEC_INVALID;
    }
    const struct map_body *body = codec_body_numbered(&letter_envelope, (uint32_t)wire->body_case);
    if (body == NULL) {
        return 0; /* MSG_LETTER_UNKNOWN */
    }
    rv = map_read_body(body, wire->head, arena, out, out_error);
    if (rv == 0) {
        out->kind = (enum msg_letter_kind)body->kind;
    }
    return rv;
}

int letter_encode(const struct msg_letter *letter, struct bytes *out)
{
    const struct map_body *body = codec_body_of_kind(&letter_envelope, (int)letter->kind);
    size_t before = out->count;
    int rv = map_write_frame(LETTER_VERSION, body, NULL, letter, LETTER_BYTES_MAX, out);

    if (rv == 0) { /* without the header */
        size_t bytes = out->count - before - LIMIT_FRAME_HEADER_BYTES;

        memmove(out->data + before, out->data + before + LIMIT_FRAME_HEADER_BYTES, bytes);
        out->count = before + bytes;
    }
    return rv;
}
