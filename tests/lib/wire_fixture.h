/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_fixture: what the tests of proto/ share: fields put together by hand, and sample messages.
 */
#pragma once

#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/msg.h"

/* Fields, appended to `out`. Memory running out ends the test. */
void wire_put_varint(struct bytes *out, uint64_t value);
void wire_put_tag(struct bytes *out, uint32_t field, uint32_t wire_type);
void wire_put_number(struct bytes *out, uint32_t field, uint64_t value);
void wire_put_data(struct bytes *out, uint32_t field, const void *data, size_t count);

/* Sample messages, with every field and with none but the needed ones. Static storage. */
size_t wire_request_count(void);
const struct hearsay_request *wire_request(size_t index);
size_t wire_response_count(void);
const struct hearsay_response *wire_response(size_t index);

/* One side of the protocol, so that each property is tested on both. */
struct wire_side {
    const char *name;
    size_t (*sample_count)(void);
    int (*encode_sample)(size_t index, struct bytes *out);
    int (*decode)(const uint8_t *frame, size_t length, struct arena *arena,
                  struct msg_error *out_error);
    /* Decodes and encodes what came out. Outcomes of decoding. */
    int (*again)(const uint8_t *frame, size_t length, struct arena *arena, struct bytes *out,
                 struct msg_error *out_error);
    size_t arena_bytes;
};

/* Requests, then responses. */
enum { WIRE_SIDES = 2 };
extern const struct wire_side wire_sides[WIRE_SIDES];

/* A sample's frame, header included, in *out, which is the caller's to give back. */
void wire_sample(const struct wire_side *side, size_t index, struct bytes *out);
