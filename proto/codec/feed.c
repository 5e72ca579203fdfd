/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/feed.h"

#include "proto/codec/form.h"
#include "proto/hearsay.pb-c.h"

static const struct map_field exported_message_fields[] = {
    FORM_ID(ExportedMessage, exported_message),
    {MAP_FIELD(U64, ExportedMessage, exported_message, epoch)},
    {MAP_FIELD(BYTES, ExportedMessage, exported_message, filter), .needed = true,
     MAP_RANGE(1, LIMIT_FILTER_BYTES)},
    {MAP_FIELD(TEXT, ExportedMessage, exported_message, media_type),
     MAP_RANGE(1, LIMIT_MEDIA_TYPE_BYTES), .form = &codec_form_media_type},
    {MAP_FIELD(BYTES, ExportedMessage, exported_message, payload)},
    {MAP_FIELD(I64, ExportedMessage, exported_message, deposited_ms)},
    {MAP_FIELD(I64, ExportedMessage, exported_message, expires_ms)},
    {MAP_AS(U32, ExportedMessage, reach, exported_message, reach_ppm), .max = LIMIT_DISTANCE_PPM,
     .absent = LIMIT_DISTANCE_PPM},
    {MAP_FIELD(BYTES, ExportedMessage, exported_message, withdraw_hash),
     MAP_RANGE(LIMIT_HASH_BYTES, LIMIT_HASH_BYTES)},
    {MAP_FIELD(U32, ExportedMessage, exported_message, state), .max = LIMIT_STATE},
    {MAP_FIELD(U32, ExportedMessage, exported_message, reports)},
};
const struct map codec_exported_message_map =
    MAP_OF("a message", exported_message, exported_message);

static const struct map_field gone_fields[] = {
    FORM_ID(Gone, gone),
    {MAP_FIELD(I64, Gone, gone, until_ms)},
    {MAP_ENUM(Gone, gone, why, Why, why), .needed = true,
     MAP_RANGE(MSG_WHY_WITHDRAWN, MSG_WHY_EVICTED)},
};
static const struct map gone_map = MAP_OF("gone", gone, gone);

static const struct map_field rule_state_fields[] = {
    {MAP_FIELD(U32, RuleState, rule_state, kind), .needed = true, MAP_RANGE(1, LIMIT_RULE_KIND)},
    {MAP_FIELD(BYTES, RuleState, rule_state, value), .max = LIMIT_RULE_BYTES},
    {MAP_FIELD(U32, RuleState, rule_state, number)},
    {MAP_FIELD(I64, RuleState, rule_state, created_ms)},
    {MAP_FIELD(BOOL, RuleState, rule_state, dropped)},
    {MAP_FIELD(I64, RuleState, rule_state, until_ms)},
};
static const struct map rule_state_map = MAP_OF("a rule", rule_state, rule_state);

static const struct map_field decision_id_fields[] = {
    {MAP_FIELD(BYTES, DecisionId, decision_id, store_id), .needed = true,
     MAP_RANGE(LIMIT_ID_BYTES, LIMIT_ID_BYTES)},
    {MAP_FIELD(U64, DecisionId, decision_id, number), .needed = true},
    {MAP_FIELD(I64, DecisionId, decision_id, time_ms)},
};
static const struct map decision_id_map = MAP_OF("the id of a decision", decision_id, decision_id);

static const struct map_field change_fields[] = {
    {MAP_FIELD(U64, Change, change, seq)},
    {MAP_MAYBE(Change, change, message, has_message, ExportedMessage, exported_message,
               &codec_exported_message_map)},
    {MAP_MAYBE(Change, change, gone, has_gone, Gone, gone, &gone_map)},
    {MAP_MAYBE(Change, change, rule, has_rule, RuleState, rule_state, &rule_state_map)},
    {MAP_MAYBE(Change, change, decision, has_decision, DecisionId, decision_id, &decision_id_map)},
};
const struct map codec_change_map = MAP_OF("a change", change, change);
