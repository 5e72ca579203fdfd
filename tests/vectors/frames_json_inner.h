/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames_json_inner: what frames_json_request.c and frames_json_response.c share. A number, a flag
 * or a list that has the value `absent`, is false or is empty is left out.
 */
#ifndef TESTS_VECTORS_FRAMES_JSON_INNER_H
#define TESTS_VECTORS_FRAMES_JSON_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/vectors/frames_json.h"

void frame_put(json_t *object, const char *name, json_t *value);
void frame_put_u64(json_t *object, const char *name, uint64_t value, uint64_t absent);
void frame_put_i64(json_t *object, const char *name, int64_t value, int64_t absent);
void frame_put_bool(json_t *object, const char *name, bool value);
void frame_put_text(json_t *object, const char *name, struct msg_text text);
void frame_put_bytes(json_t *object, const char *name, struct msg_bytes bytes);
void frame_put_name(json_t *object, const char *name, const char *value);
json_t *frame_put_list(json_t *object, const char *name, size_t count);
json_t *frame_add_object(json_t *list);
void frame_put_numbers(json_t *object, const char *name, const uint32_t *numbers, uint32_t count);
void frame_put_texts(json_t *object, const char *name, const struct msg_text *texts, size_t count);
void frame_put_refusal(json_t *body, const struct msg_error *error);
void frame_put_asked(json_t *body, const struct msg_query *query);
void frame_put_report_kind(json_t *object, enum msg_report_kind kind);
void frame_put_kind_said(json_t *object, enum msg_report_kind kind);
void frame_put_exported_message(json_t *entry, const struct msg_exported_message *message);
void frame_put_feed(json_t *body, const struct msg_change *changes, size_t count);
void frame_put_result(json_t *entry, const struct msg_result *result);
void frame_put_notices(json_t *body, const struct msg_house_notice *notices, size_t count);
void frame_put_found(json_t *body, const struct msg_results *results);

#endif
