/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fake_persist_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

/* --- messages --------------------------------------------------------------------------------- */

struct fake_message *fake_find(struct fake *fake, uint32_t host, const uint8_t *id)
{
    for (size_t i = 0; i < fake->count; i++) {
        const struct persist_message *message = &fake->messages[i].message;
        if (message->host == host && memcmp(message->id, id, MESSAGE_ID_BYTES) == 0) {
            return &fake->messages[i];
        }
    }
    return NULL;
}

size_t fake_content_bytes(const struct persist_message *message)
{
    return message->filter_bytes + message->media_type_bytes + message->payload_bytes;
}

void fake_copy_message(const struct persist_message *message, uint8_t *content,
                       struct persist_message *out)
{
    uint8_t *at = content;

    if (fake_content_bytes(message) > FAKE_CONTENT_MAX) {
        abort(); /* the test's mistake */
    }
    *out = *message;
    out->filter = at;
    memcpy(at, message->filter, message->filter_bytes);
    at += message->filter_bytes;
    out->media_type = (const char *)at;
    memcpy(at, message->media_type, message->media_type_bytes);
    at += message->media_type_bytes;
    out->payload = at;
    memcpy(at, message->payload, message->payload_bytes);
}

static void keep(struct fake_message *stored, const struct persist_message *message)
{
    fake_copy_message(message, stored->content, &stored->message);
    stored->message.sender = 0; /* is not stored */
    stored->withdrawn = stored->removed = false;
    stored->change_seq = 0;
    stored->why = 0;
    stored->words[0] = '\0';
}

bool fake_same_content(const struct persist_message *a, const struct persist_message *b)
{
    return a->epoch == b->epoch && a->reach_ppm == b->reach_ppm &&
           a->filter_bytes == b->filter_bytes && a->payload_bytes == b->payload_bytes &&
           a->media_type_bytes == b->media_type_bytes && a->can_withdraw == b->can_withdraw &&
           memcmp(a->filter, b->filter, a->filter_bytes) == 0 &&
           memcmp(a->payload, b->payload, a->payload_bytes) == 0 &&
           memcmp(a->media_type, b->media_type, a->media_type_bytes) == 0 &&
           memcmp(a->withdraw_hash, b->withdraw_hash, LIMIT_HASH_BYTES) == 0 &&
           a->is_answer == b->is_answer && memcmp(a->answers, b->answers, MESSAGE_ID_BYTES) == 0;
}

/* --- operations ------------------------------------------------------------------------------- */

void fake_drop(struct fake *fake, struct fake_message *stored)
{
    const struct fake_message *last = &fake->messages[--fake->count];

    if (last != stored) {
        const struct persist_message moved = last->message;
        keep(stored, &moved);
        stored->seq = last->seq;
        stored->withdrawn = last->withdrawn;
        stored->removed = last->removed;
        stored->change_seq = last->change_seq;
        stored->why = last->why;
        memcpy(stored->words, last->words, sizeof(last->words));
    }
}

/* Takes a message out, as an expiry or an eviction. */
static void take_out(struct fake *fake, size_t i, struct persist_op *op)
{
    struct persist_removed *removed = &op->removed[op->removed_count++];
    const struct persist_message *message = &fake->messages[i].message;

    removed->host = message->host;
    removed->epoch = message->epoch;
    memcpy(removed->id, message->id, MESSAGE_ID_BYTES);
    if (op->kind == PERSIST_DEPOSIT && fake_replicates(fake, message->host) &&
        message->epoch == 0 && fake->evicted_count < FAKE_EVICTED_MAX) {
        struct persist_change *change = &fake->evicted[fake->evicted_count++];
        *change = (struct persist_change){
            .kind = PERSIST_CHANGE_GONE, .seq = ++fake->last_seq, .why = PERSIST_WHY_EVICTED};
        change->message.host = message->host;
        memcpy(change->message.id, message->id, MESSAGE_ID_BYTES);
        change->message.expires_ms = message->expires_ms;
    }
    fake_drop(fake, &fake->messages[i]);
}

static bool goes_before(const struct fake_message *a, const struct fake_message *b,
                        enum persist_evict order)
{
    return order == PERSIST_EVICT_SOONEST && a->message.expires_ms != b->message.expires_ms
               ? a->message.expires_ms < b->message.expires_ms
               : a->seq < b->seq;
}

/* The message of the host that goes next, but for the one with this seq; count: there is none. */
static size_t next_to_go(const struct fake *fake, const struct persist_op *op, int64_t but)
{
    size_t next = fake->count;

    for (size_t i = 0; i < fake->count; i++) {
        const struct fake_message *stored = &fake->messages[i];
        if (stored->message.host == op->message.host && !stored->withdrawn && stored->seq != but &&
            (next == fake->count || goes_before(stored, &fake->messages[next], op->evict))) {
            next = i;
        }
    }
    return next;
}

static bool is_chosen(const struct persist_op *op, const uint8_t *id)
{
    for (uint32_t i = 0; i < op->chosen_count; i++) {
        if (memcmp(op->chosen + (size_t)i * MESSAGE_ID_BYTES, id, MESSAGE_ID_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether all that may go would be enough. */
static bool has_enough(const struct fake *fake, const struct persist_op *op, int64_t but)
{
    uint64_t messages = 0;
    uint64_t bytes = 0;

    for (size_t i = 0; i < fake->count; i++) {
        const struct fake_message *stored = &fake->messages[i];
        if (stored->message.host == op->message.host && !stored->withdrawn && stored->seq != but &&
            !is_chosen(op, stored->message.id)) {
            messages++;
            bytes += fake_content_bytes(&stored->message);
        }
    }
    return messages >= op->evict_messages && bytes >= op->evict_bytes;
}

/* Makes the room that the deposit just stored asks for, or takes it back. */
static enum persist_outcome make_room(struct fake *fake, struct persist_op *op)
{
    const int64_t own = op->message.seq;
    uint64_t messages = 0;
    uint64_t bytes = 0;

    if (!has_enough(fake, op, own)) {
        fake_drop(fake, fake_find(fake, op->message.host, op->message.id));
        return PERSIST_FULL;
    }
    for (uint32_t i = 0; i < op->chosen_count; i++) {
        const uint8_t *id = op->chosen + (size_t)i * MESSAGE_ID_BYTES;
        const struct fake_message *chosen = fake_find(fake, op->message.host, id);
        if (chosen != NULL && !chosen->withdrawn && chosen->seq != own) {
            take_out(fake, (size_t)(chosen - fake->messages), op);
        }
    }
    while (messages < op->evict_messages || bytes < op->evict_bytes) {
        const size_t at = next_to_go(fake, op, own);
        if (op->removed_count == op->limit) {
            abort(); /* tests' messages are not that small */
        }
        messages++;
        bytes += fake_content_bytes(&fake->messages[at].message);
        take_out(fake, at, op);
    }
    return PERSIST_APPLIED;
}

static bool same_rule(const struct persist_rule *a, const struct persist_rule *b)
{
    return a->host == b->host && a->kind == b->kind && a->value_bytes == b->value_bytes &&
           memcmp(a->value, b->value, a->value_bytes) == 0;
}

struct fake_message *fake_put(struct fake *fake, struct persist_message *message)
{
    struct fake_message *stored = fake_find(fake, message->host, message->id);

    if (stored == NULL) {
        if (fake->count == FAKE_MESSAGES_MAX) {
            abort();
        }
        stored = &fake->messages[fake->count++];
    }
    message->seq = ++fake->last_seq; /* also when it replaces one that expired */
    keep(stored, message);
    stored->seq = message->seq;
    return stored;
}

/* The stored message that an answer answers; NULL: there is none. */
static const struct persist_message *find_parent(struct fake *fake,
                                                 const struct persist_message *answer)
{
    const struct fake_message *stored = fake_find(fake, answer->host, answer->answers);

    return stored == NULL || stored->withdrawn || stored->message.is_answer ? NULL
                                                                            : &stored->message;
}

/* With a message that has gone go the answers to it. */
static void drop_answers(struct fake *fake)
{
    for (size_t i = 0; i < fake->count;) {
        struct fake_message *stored = &fake->messages[i];

        if (stored->message.is_answer && !stored->withdrawn &&
            find_parent(fake, &stored->message) == NULL) {
            fake_drop(fake, stored);
        } else {
            i++;
        }
    }
}

static enum persist_outcome deposit(struct fake *fake, struct persist_op *op)
{
    struct fake_message *stored = fake_find(fake, op->message.host, op->message.id);

    if (stored != NULL && stored->message.expires_ms > op->now_ms) {
        if (stored->withdrawn || stored->removed) {
            return PERSIST_GONE;
        }
        if (!fake_same_content(&stored->message, &op->message)) {
            return PERSIST_CONFLICT;
        }
        op->message.deposited_ms = stored->message.deposited_ms;
        op->message.expires_ms = stored->message.expires_ms;
        op->message.state = stored->message.state;
        op->message.reports = stored->message.reports;
        op->message.seq = stored->seq;
        return PERSIST_DUPLICATE;
    }
    if (op->message.is_answer) {
        const struct persist_message *parent = find_parent(fake, &op->message);

        if (parent == NULL || parent->expires_ms <= op->now_ms ||
            parent->epoch != op->message.epoch) {
            return PERSIST_NO_PARENT;
        }
        op->message.expires_ms = op->message.expires_ms < parent->expires_ms
                                     ? op->message.expires_ms
                                     : parent->expires_ms;
    }
    (void)fake_put(fake, &op->message);
    op->removed_count = 0;
    return op->evict != PERSIST_EVICT_NONE || op->chosen_count > 0 ? make_room(fake, op)
                                                                   : PERSIST_APPLIED;
}

static enum persist_outcome withdraw(struct fake *fake, struct persist_op *op)
{
    struct fake_message *stored = fake_find(fake, op->message.host, op->message.id);

    if (stored == NULL || stored->withdrawn || stored->message.expires_ms <= op->now_ms) {
        return PERSIST_NOT_FOUND;
    }
    if (!stored->message.can_withdraw ||
        memcmp(stored->message.withdraw_hash, op->message.withdraw_hash, LIMIT_HASH_BYTES) != 0) {
        return PERSIST_FORBIDDEN;
    }
    stored->withdrawn = true;
    return PERSIST_APPLIED;
}

struct fake_rule *fake_find_rule(struct fake *fake, const struct persist_rule *rule)
{
    for (size_t i = 0; i < fake->rule_count; i++) {
        if (same_rule(&fake->rules[i].rule, rule)) {
            return &fake->rules[i];
        }
    }
    return NULL;
}

enum persist_outcome fake_put_rule(struct fake *fake, const struct persist_rule *rule)
{
    struct fake_rule *found = fake_find_rule(fake, rule);

    if (found == NULL) {
        if (fake->rule_count == FAKE_RULES_MAX) {
            abort();
        }
        found = &fake->rules[fake->rule_count++];
        memcpy(found->value, rule->value, rule->value_bytes);
    }
    found->rule = *rule;
    found->rule.value = found->value;
    found->rule.seq = fake_replicates(fake, rule->host) ? ++fake->last_seq : 0;
    return PERSIST_APPLIED;
}

/* A decision that is made here: later than what others were told of before. */
static enum persist_outcome decide_rule(struct fake *fake, const struct persist_rule *rule)
{
    const struct fake_rule *found = fake_find_rule(fake, rule);
    struct persist_rule decided = *rule;

    if (found != NULL && found->rule.seq > 0 && found->rule.created_ms >= rule->created_ms) {
        decided.created_ms = found->rule.created_ms + 1;
    }
    return fake_put_rule(fake, &decided);
}

/* Takes a rule out. The last one comes in its place. */
static void take_rule(struct fake *fake, struct fake_rule *rule)
{
    *rule = fake->rules[--fake->rule_count];
    rule->rule.value = rule->value;
}

static enum persist_outcome drop_rule(struct fake *fake, const struct persist_op *op)
{
    struct fake_rule *found = fake_find_rule(fake, op->rule);

    if (found == NULL || found->rule.dropped) {
        return PERSIST_NOT_FOUND;
    }
    if (fake_replicates(fake, op->rule->host)) {
        found->rule.dropped = true;
        if (op->now_ms > found->rule.created_ms) {
            found->rule.created_ms = op->now_ms;
        }
        found->rule.until_ms = op->now_ms + (int64_t)PERSIST_DROPPED_DAYS * 24 * 3600 * 1000;
        found->rule.seq = ++fake->last_seq;
    } else {
        take_rule(fake, found);
    }
    return PERSIST_APPLIED;
}

static enum persist_outcome remove_message(struct fake *fake, struct persist_op *op)
{
    struct fake_message *stored = fake_find(fake, op->message.host, op->message.id);

    if (stored == NULL || stored->withdrawn || stored->message.expires_ms <= op->now_ms) {
        return PERSIST_NOT_FOUND;
    }
    stored->withdrawn = stored->removed = true;
    op->message.expires_ms = stored->message.expires_ms;
    if (op->rule != NULL) {
        struct persist_rule rule = *op->rule;
        (void)crypto_generichash(op->payload_hash, LIMIT_HASH_BYTES, stored->message.payload,
                                 stored->message.payload_bytes, NULL, 0);
        rule.value = op->payload_hash;
        rule.value_bytes = LIMIT_HASH_BYTES;
        return decide_rule(fake, &rule);
    }
    return PERSIST_APPLIED;
}

/* As remove_message, but the message stays, and its mark is the `removed` of what is there. */
static enum persist_outcome withhold(struct fake *fake, struct persist_op *op)
{
    struct fake_message *stored = fake_find(fake, op->message.host, op->message.id);
    struct persist_message *message = stored == NULL ? NULL : &stored->message;

    if (stored == NULL || stored->withdrawn || message->expires_ms <= op->now_ms ||
        (message->destroy_ms != 0 && message->destroy_ms <= op->now_ms)) {
        return PERSIST_NOT_FOUND;
    }
    if (message->destroy_ms != 0 && op->message.destroy_ms == 0) {
        return PERSIST_FORBIDDEN;
    }
    (void)crypto_generichash(op->payload_hash, LIMIT_HASH_BYTES, message->payload,
                             message->payload_bytes, NULL, 0);
    message->state = PERSIST_WITHHELD;
    if (message->destroy_ms == 0) {
        message->destroy_ms = op->message.destroy_ms < message->expires_ms ? op->message.destroy_ms
                                                                           : message->expires_ms;
        message->removed_ms = op->now_ms;
        stored->removed = op->message.destroy_ms != 0;
    }
    op->message.deposited_ms = message->deposited_ms;
    op->message.expires_ms = message->expires_ms;
    op->message.state = message->state;
    op->message.reports = message->reports;
    op->message.destroy_ms = message->destroy_ms;
    op->message.removed_ms = message->removed_ms;
    if (op->rule != NULL) {
        struct persist_rule rule = *op->rule;
        rule.value = op->payload_hash;
        rule.value_bytes = LIMIT_HASH_BYTES;
        return decide_rule(fake, &rule);
    }
    return PERSIST_APPLIED;
}

static bool is_grave(const char *line)
{
    return line[0] == '1' || line[0] == '2';
}

static void add_words(struct fake_message *stored, const char *words, size_t count)
{
    size_t lines = 0;
    size_t grave = is_grave(words);

    for (char *at = stored->words; *at != '\0'; at = strchr(at, '\n') + 1) {
        lines++;
        grave += is_grave(at);
    }
    if (lines == PERSIST_REASONS_KEPT) { /* the oldest of its sort goes */
        bool grave_goes = grave > PERSIST_REASONS_GRAVE;
        char *at = stored->words;
        while (is_grave(at) != grave_goes) {
            at = strchr(at, '\n') + 1;
        }
        grave -= grave_goes;
        const char *next = strchr(at, '\n') + 1;
        memmove(at, next, strlen(next) + 1);
    }
    const size_t used = strlen(stored->words);
    (void)snprintf(stored->words + used, sizeof(stored->words) - used, "%.*s\n", (int)count, words);
    stored->message.grave = (uint32_t)grave; /* what a start finds */
    stored->message.texts_bytes = 0;
    for (const char *at = stored->words; *at != '\0'; at = strchr(at, '\n') + 1) {
        stored->message.texts_bytes += (uint32_t)(strchr(at, '\n') - at) - 1;
    }
}

/* What is shown now, and was not, takes a new number. */
static void show(struct fake *fake, struct fake_message *stored, struct persist_op *op)
{
    op->shown_seq = ++fake->last_seq;
    stored->seq = stored->message.seq = op->shown_seq;
}

static enum persist_outcome moderate(struct fake *fake, struct persist_op *op)
{
    struct fake_message *stored = fake_find(fake, op->message.host, op->message.id);

    op->shown_seq = 0;
    if (stored == NULL || stored->withdrawn || stored->message.expires_ms <= op->now_ms ||
        stored->message.deposited_ms != op->message.deposited_ms ||
        (stored->message.destroy_ms != 0 && stored->message.destroy_ms <= op->now_ms)) {
        return PERSIST_NOT_FOUND;
    }
    const bool is_report = op->message.reports > 0;
    if (!is_report) {
        stored->message.destroy_ms = 0;
        stored->removed = false;
    }
    if (!is_report && stored->message.state >= PERSIST_HIDDEN &&
        op->message.state < PERSIST_HIDDEN) {
        show(fake, stored, op);
    }
    op->message.seq = stored->seq;
    if (!is_report ||
        (op->message.state == PERSIST_HIDDEN && stored->message.state == PERSIST_SHOWN)) {
        stored->message.state = op->message.state;
    }
    if (op->message.reports > stored->message.reports) {
        stored->message.reports = op->message.reports;
        if (op->words != NULL) {
            add_words(stored, op->words, op->words_bytes);
        }
    }
    op->message.state = stored->message.state;
    op->message.reports = stored->message.reports;
    op->message.texts_bytes = stored->message.texts_bytes;
    return PERSIST_APPLIED;
}

static enum persist_outcome expire(struct fake *fake, struct persist_op *op)
{
    size_t kept = 0;

    for (size_t i = 0; i < fake->epoch_count; i++) {
        if (fake->epochs[i].kept_ms > op->now_ms) {
            fake->epochs[kept++] = fake->epochs[i];
        }
    }
    fake->epoch_count = kept;
    for (size_t i = fake->rule_count; i-- > 0;) {
        const struct persist_rule *rule = &fake->rules[i].rule;
        if (rule->until_ms > 0 && rule->until_ms <= op->now_ms) {
            take_rule(fake, &fake->rules[i]);
        }
    }
    op->removed_count = 0;
    for (size_t i = 0; i < fake->count && op->removed_count < op->limit;) {
        struct persist_message *message = &fake->messages[i].message;
        if (message->expires_ms > op->now_ms && message->destroy_ms != 0 &&
            message->destroy_ms <= op->now_ms) { /* only its mark stays */
            struct persist_removed *removed = &op->removed[op->removed_count++];
            removed->host = message->host;
            removed->epoch = message->epoch;
            memcpy(removed->id, message->id, MESSAGE_ID_BYTES);
            message->destroy_ms = 0;
            fake->messages[i++].withdrawn = true;
            continue;
        }
        if (message->expires_ms > op->now_ms) {
            i++;
            continue;
        }
        const uint32_t before = op->removed_count;
        const bool was_mark = fake->messages[i].withdrawn;
        take_out(fake, i, op);
        op->removed_count = was_mark ? before : op->removed_count;
    }
    return PERSIST_APPLIED;
}

static enum persist_outcome shift(struct fake *fake, const struct persist_op *op)
{
    const int64_t before_ms = op->now_ms - op->shift_ms;

    for (size_t i = 0; i < fake->rule_count; i++) {
        struct persist_rule *rule = &fake->rules[i].rule;
        if (rule->until_ms > 0 && rule->created_ms >= op->shift_from_ms) {
            rule->created_ms += op->shift_ms;
            rule->until_ms += op->shift_ms;
        }
    }
    for (size_t i = 0; i < fake->epoch_count; i++) {
        fake->epochs[i].kept_ms += fake->epochs[i].kept_ms > before_ms ? op->shift_ms : 0;
    }
    for (size_t i = 0; i < fake->count; i++) {
        struct persist_message *message = &fake->messages[i].message;
        const bool is_mark = fake->messages[i].withdrawn;

        if (message->destroy_ms > 0 && message->removed_ms >= op->shift_from_ms) {
            message->destroy_ms += op->shift_ms;
            message->removed_ms += op->shift_ms;
        }
        if (is_mark
                ? message->expires_ms > before_ms
                : message->deposited_ms >= op->shift_from_ms && message->seq >= op->message.seq) {
            message->expires_ms += op->shift_ms;
            message->deposited_ms += is_mark ? 0 : op->shift_ms;
        }
    }
    return PERSIST_APPLIED;
}

/* --- counting --------------------------------------------------------------------------------- */

static void count_shown(const struct persist_message *message, struct persist_tally *tally)
{
    uint32_t set = 0;

    for (size_t i = 0; i < message->filter_bytes; i++) {
        tally->whole[i] |= message->filter[i];
        set += (uint32_t)__builtin_popcount(message->filter[i]);
    }
    tally->low = tally->shown == 0 || set < tally->low ? set : tally->low;
    tally->high = set > tally->high ? set : tally->high;
    tally->shown++;
    tally->shown_bytes += fake_content_bytes(message);
}

static struct persist_tally *find_tally(const struct persist_op *op, uint32_t host, uint64_t epoch)
{
    for (size_t i = 0; i < op->tally_count; i++) {
        if (op->tallies[i].host == host && op->tallies[i].epoch == epoch) {
            return &op->tallies[i];
        }
    }
    return NULL;
}

static void tally(const struct fake *fake, const struct persist_op *op)
{
    for (size_t i = 0; i < fake->count; i++) {
        const struct persist_message *message = &fake->messages[i].message;
        struct persist_tally *open = find_tally(op, message->host, 0);
        struct persist_tally *own = find_tally(op, message->host, message->epoch);

        if (fake->messages[i].withdrawn || open == NULL) {
            continue;
        }
        if (message->state >= PERSIST_HIDDEN || message->is_answer) {
            own = own != NULL ? own : open;
            own->hidden++;
            own->hidden_bytes += fake_content_bytes(message);
        } else if (own != NULL) {
            count_shown(message, own);
        } else {
            open->strays++;
        }
    }
}

static enum persist_outcome make_host(const struct fake *fake, struct persist_op *op)
{
    if (fake->stored_profile != NULL) {
        return PERSIST_CONFLICT;
    }
    op->message.host = (uint32_t)op->host_name[0]; /* as add_host */
    return PERSIST_APPLIED;
}

/* --- all of them ------------------------------------------------------------------------------ */

void fake_put_epoch(struct fake *fake, const struct persist_epoch *epoch)
{
    if (fake->epoch_count == FAKE_EPOCHS_MAX) {
        abort();
    }
    fake->epochs[fake->epoch_count++] = *epoch;
}

static enum persist_outcome carry_out(struct fake *fake, struct persist_op *op)
{
    switch (op->kind) {
    case PERSIST_DEPOSIT:
        return deposit(fake, op);
    case PERSIST_WITHDRAW:
        return withdraw(fake, op);
    case PERSIST_EPOCH:
        fake_put_epoch(fake, op->epoch);
        return PERSIST_APPLIED;
    case PERSIST_HOST:
        return make_host(fake, op);
    case PERSIST_EXPIRE:
        return expire(fake, op);
    case PERSIST_REMOVE:
        return remove_message(fake, op);
    case PERSIST_WITHHOLD:
        return withhold(fake, op);
    case PERSIST_MODERATE:
        return moderate(fake, op);
    case PERSIST_RULE_PUT:
        return decide_rule(fake, op->rule);
    case PERSIST_RULE_DROP:
        return drop_rule(fake, op);
    case PERSIST_SHIFT:
        return shift(fake, op);
    case PERSIST_REPLICATE:
        return fake_replicate(fake, op);
    case PERSIST_APPLY:
        return fake_apply_state(fake, op);
    case PERSIST_CLOCK:
        fake->shift_from_ms = op->shift_from_ms;
        return PERSIST_APPLIED;
    default:
        tally(fake, op);
        return PERSIST_APPLIED;
    }
}

enum persist_outcome fake_apply(struct fake *fake, struct persist_op *op)
{
    const enum persist_outcome outcome = carry_out(fake, op);

    if (outcome == PERSIST_APPLIED) {
        fake_note_change(fake, op);
        drop_answers(fake);
    }
    return outcome;
}
