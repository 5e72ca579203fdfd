/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "core/base/expiry.h"
#include "core/base/label.h"
#include "daemon/handler/bridge/apply.h"

enum { STORE_BYTES = 4 }; /* of the id of a reader's store, as a line of the log shows it */

static const char text_plain[] = "text/plain";

/* --- who says what ---------------------------------------------------------------------------- */

static bool check_role(const struct ask *ask)
{
    const struct hearsay_apply *asked = &ask->request->apply;
    const struct host *host = ask->host;
    const char *name = host->config.name;

    if ((asked->as == HEARSAY_AS_REPLICA) != host->config.is_replica) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "as",
                   host->config.is_replica
                       ? "this server has a copy of host \"%s\", and takes what its owner says "
                         "(AS_REPLICA)"
                       : "this server is the owner of host \"%s\", not a copy (AS_REPLICA)",
                   name);
    } else if (!host_has_feed(host)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "host",
                   "host \"%s\" keeps no changes; `replicate = yes` in its section lets it", name);
    } else if (asked->restored && asked->as != HEARSAY_AS_RESTORE) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "restored", "restored goes with AS_RESTORE only");
    } else {
        return true;
    }
    return false;
}

/* --- changes ---------------------------------------------------------------------------------- */

static bool check_message(const struct ask *ask, const struct hearsay_exported_message *message,
                          struct msg_error *out_error)
{
    enum hearsay_apply_as as = ask->request->apply.as;
    uint32_t most = ask->service->config.limits.payload_bytes;
    uint64_t filter[PROFILE_WORDS_MAX];

    if (message->epoch != 0) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes.message.epoch",
                      "messages of epochs other than 0 stay at their host");
        return false;
    }
    if (!ask_judge_filter(ask, &message->filter, "changes.message.filter", filter, out_error)) {
        return false;
    }
    if (message->payload.count > most) {
        msg_error_set(out_error, HEARSAY_CODE_TOO_LARGE, "changes.message.payload",
                      "the payload has %zu bytes; up to %" PRIu32 " are taken here",
                      message->payload.count, most);
        return false;
    }
    if (!message_times_fit(message->deposited_ms, message->expires_ms)) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes.message.expires_ms",
                      "the times must be from 1970 to 9999, and a message expires after its "
                      "deposit, at most ten years later");
        return false;
    }
    if (as == HEARSAY_AS_OPERATOR && message->state != PERSIST_APPROVED &&
        message->state != PERSIST_WITHHELD) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes.message.state",
                      "an operator approves a message (1) or withholds it (4)");
        return false;
    }
    return true;
}

static bool check_gone(const struct ask *ask, const struct hearsay_gone *gone,
                       struct msg_error *out_error)
{
    if (!message_time_fits(gone->until_ms)) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes.gone.until_ms",
                      "the time must be from 1970 to 9999");
        return false;
    }
    if (ask->request->apply.as == HEARSAY_AS_OPERATOR && gone->why != HEARSAY_WAS_REMOVED) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes.gone.why",
                      "an operator removes a message (WAS_REMOVED)");
        return false;
    }
    return true;
}

/* Whether the bytes are a line of text: UTF-8 without control characters. */
static bool is_line(const uint8_t *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (line[i] < 0x20 || line[i] == 0x7f) {
            return false;
        }
    }
    return label_is_utf8((const char *)line, length);
}

/* Whether the bytes are a language, a zero byte, and a line of text; and perhaps a zero byte and
 * the name of a place. */
static bool is_notice(const struct hearsay_bytes *value)
{
    static const struct {
        size_t least;
        size_t most;
    } parts[] = {{0, LIMIT_LANGUAGE_BYTES}, {1, LIMIT_NOTICE_BYTES}, {1, LIMIT_PLACE_NAME_BYTES}};
    const uint8_t *at = value->data;
    const uint8_t *end = at + value->count;
    size_t count = 0;

    for (; at != NULL && at <= end && count < sizeof(parts) / sizeof(parts[0]); count++) {
        const uint8_t *zero = memchr(at, 0, (size_t)(end - at));
        size_t length = (size_t)((zero != NULL ? zero : end) - at);

        if (length < parts[count].least || length > parts[count].most || !is_line(at, length)) {
            return false;
        }
        at += length + 1;
    }
    return count >= 2 && at > end;
}

static bool check_rule(const struct ask *ask, const struct hearsay_rule_state *rule,
                       struct msg_error *out_error)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    bool fits = true;

    switch (rule->kind) {
    case PERSIST_BAN_PAYLOAD:
        fits = rule->value.count == LIMIT_HASH_BYTES;
        break;
    case PERSIST_BAN_FILTER:
        if (!ask_judge_filter(ask, &rule->value, "changes.rule.value", filter, out_error)) {
            return false;
        }
        fits = rule->number <= LIMIT_DISTANCE_PPM;
        break;
    case PERSIST_ACCEPT:
        fits = rule->value.count == 0 && rule->number < ACCEPT_MODES;
        break;
    default:
        fits = is_notice(&rule->value);
        break;
    }
    if (!fits) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes.rule.value",
                      "the value or the number is none of this kind of rule");
        return false;
    }
    if (!message_time_fits(rule->created_ms) || !message_time_fits(rule->until_ms)) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes.rule.created_ms",
                      "the times must be from 1970 to 9999");
        return false;
    }
    return true;
}

bool apply_fits(const struct ask *ask, const struct hearsay_change *change,
                struct msg_error *out_error)
{
    if (!msg_change_has_content(change)) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes",
                      "a change has message, gone or rule, one of them");
        return false;
    }
    if (change->has_decision &&
        (change->decision.number == 0 || change->decision.number > INT64_MAX ||
         !message_time_fits(change->decision.time_ms))) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, "changes.decision.number",
                      "the number must be from 1 to 2^63 - 1, and the time from 1970 to 9999");
        return false;
    }
    return change->has_message ? check_message(ask, &change->message, out_error)
           : change->has_gone  ? check_gone(ask, &change->gone, out_error)
                               : check_rule(ask, &change->rule, out_error);
}

bool apply_check(struct ask *ask)
{
    return ask_host(ask, &ask->request->apply.host) && check_role(ask);
}

/* --- operations ------------------------------------------------------------------------------- */

size_t apply_content_bytes(const struct hearsay_apply *asked)
{
    size_t bytes = 0;

    for (size_t i = 0; i < asked->change_count; i++) {
        const struct hearsay_exported_message *message = &asked->changes[i].message;
        const struct hearsay_change *change = &asked->changes[i];

        bytes += change->has_message
                     ? message->filter.count + message->payload.count + message->media_type.length
                     : 0;
        bytes += change->has_rule ? change->rule.value.count : 0;
    }
    return bytes; /* each is within the frame */
}

/* Copies bytes to *at, and moves *at behind them. */
static const uint8_t *copy_bytes(uint8_t **at, const void *data, size_t count)
{
    uint8_t *copy = *at;

    if (count > 0) {
        memcpy(copy, data, count);
    }
    *at += count;
    return copy;
}

static void fill_message(struct persist_message *out,
                         const struct hearsay_exported_message *message, uint8_t **at)
{
    memcpy(out->id, message->id.data, MESSAGE_ID_BYTES);
    out->filter = copy_bytes(at, message->filter.data, message->filter.count);
    out->filter_bytes = message->filter.count;
    out->media_type = text_plain;
    out->media_type_bytes = sizeof(text_plain) - 1;
    if (message->media_type.text != NULL) {
        out->media_type =
            (const char *)copy_bytes(at, message->media_type.text, message->media_type.length);
        out->media_type_bytes = message->media_type.length;
    }
    out->payload = copy_bytes(at, message->payload.data, message->payload.count);
    out->payload_bytes = message->payload.count;
    out->deposited_ms = message->deposited_ms;
    out->expires_ms = message->expires_ms;
    out->reach_ppm = message->reach_ppm;
    out->state = (enum persist_state)message->state;
    out->reports = message->reports;
    if (message->withdraw_hash.data != NULL) {
        out->can_withdraw = true;
        memcpy(out->withdraw_hash, message->withdraw_hash.data, LIMIT_HASH_BYTES);
    }
}

/* Finds room for a rule that comes into force. False: there is none. */
static bool find_room(struct apply_item *item)
{
    struct rules *rules = &item->job->base.host->rules;

    if (item->rule.kind == PERSIST_NOTICE) {
        item->taken_number = rules_take_number(rules, &item->rule);
        item->rule.number = item->taken_number != 0 ? item->taken_number : item->rule.number;
        return item->taken_number != 0;
    }
    return item->rule.kind == PERSIST_ACCEPT || rules_has(rules, &item->rule) ||
           rules->ban_count + item->job->bans++ < LIMIT_BANS;
}

static void fill_rule(struct apply_item *item, const struct hearsay_rule_state *rule, uint8_t **at)
{
    item->rule = (struct persist_rule){
        .host = item->job->base.host->number,
        .kind = (enum persist_rule_kind)rule->kind,
        .value = copy_bytes(at, rule->value.data, rule->value.count),
        .value_bytes = rule->value.count,
        .number = rule->number,
        .created_ms = rule->created_ms,
        .until_ms = rule->until_ms,
        .dropped = rule->dropped,
    };
    item->op.rule = &item->rule;
    item->is_late = !rule->dropped && !find_room(item);
}

void apply_fill_late(struct apply_item *item)
{
    item->is_late = false;
    if (find_room(item)) {
        return;
    }
    /* A copy gets the rule again later; and what an operator has decided at a copy waits there, as
     * another of its decisions, which frees room, may come later. An owner's own rules of now count
     * more than earlier ones. */
    item->is_refused = item->op.as != PERSIST_AS_RESTORE;
    item->job->refused += item->is_refused ? 1 : 0;
    item->is_left_out = !item->is_refused;
}

/* The line in the list of decisions: the operator of another server has decided. */
static void fill_decision(struct apply_item *item, const struct hearsay_change *change)
{
    static const char *const rule_acts[][2] = {
        [PERSIST_BAN_PAYLOAD] = {"ban", "unban"},
        [PERSIST_BAN_FILTER] = {"ban", "unban"},
        [PERSIST_ACCEPT] = {"accept-", "accept-auto"},
        [PERSIST_NOTICE] = {"notice", "unnotice"},
    };
    struct persist_decision *decision = &item->decision;
    char store[2 * STORE_BYTES + 1];
    const char *act = change->has_gone   ? "remove"
                      : change->has_rule ? rule_acts[change->rule.kind][change->rule.dropped]
                      : change->message.state == PERSIST_WITHHELD ? "hide"
                                                                  : "restore";

    *decision = (struct persist_decision){
        .host = item->job->base.host->number,
        .time_ms = item->op.now_ms,
        .has_id = !change->has_rule,
        .uid = LIMIT_UID_HUB, /* the bridge's user has decided nothing */
    };
    (void)snprintf(decision->act, sizeof(decision->act), "%s%s", act,
                   strcmp(act, "accept-") == 0 ? accept_name((enum accept)change->rule.number)
                                               : "");
    if (change->has_decision) { /* who decided stands in the reader's own list */
        (void)sodium_bin2hex(store, sizeof(store), change->decision.store_id.data, STORE_BYTES);
        (void)snprintf(decision->reason, sizeof(decision->reason),
                       "decided at the reader whose store is %s", store);
    }
    memcpy(decision->id, item->op.message.id, MESSAGE_ID_BYTES);
    item->op.decision = decision;
}

uint8_t *apply_fill(struct apply_item *item, const struct hearsay_change *change, uint8_t *at)
{
    struct persist_op *op = &item->op;

    op->kind = PERSIST_APPLY;
    op->as = item->job->as;
    op->message.host = item->job->base.host->number;
    if (change->has_message) {
        op->change = PERSIST_CHANGE_MESSAGE;
        fill_message(&op->message, &change->message, &at);
    } else if (change->has_gone) {
        op->change = PERSIST_CHANGE_GONE;
        op->why = (enum persist_why)change->gone.why;
        op->message.expires_ms = change->gone.until_ms;
        memcpy(op->message.id, change->gone.id.data, MESSAGE_ID_BYTES);
    } else {
        op->change = PERSIST_CHANGE_RULE;
        fill_rule(item, &change->rule, &at);
    }
    if (op->as == PERSIST_AS_OPERATOR) {
        fill_decision(item, change);
    }
    if (change->has_decision && op->as != PERSIST_AS_RESTORE) {
        memcpy(op->decision_id.store_id, change->decision.store_id.data, PERSIST_STORE_ID_BYTES);
        op->decision_id.number = change->decision.number;
        op->decision_id.time_ms = change->decision.time_ms;
    }
    return at;
}
