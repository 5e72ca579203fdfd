/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fake_persist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/profile/profile.h"

enum {
    MESSAGES_MAX = 4096,
    CONTENT_MAX = 2048,
    RULES_MAX = 64,
    WORDS_MAX = PERSIST_REASONS_KEPT * (LIMIT_REASON_BYTES + 1),
    EPOCHS_MAX = 256
};

struct stored {
    struct persist_message message;
    uint8_t content[CONTENT_MAX]; /* what the message points to */
    int64_t seq;                  /* grows with each deposit: the position of pages */
    bool withdrawn;
    char words[WORDS_MAX + 1]; /* of the latest reports, each with its newline */
};

struct rule {
    struct persist_rule rule;
    uint8_t value[LIMIT_FILTER_BYTES];
};

/* What an entry of a read points to, until the read is released. */
struct copy {
    struct copy *next;
    uint8_t content[CONTENT_MAX];
    char words[WORDS_MAX + 1];
};

struct fake {
    struct persist persist;
    struct stored *messages;
    size_t count;
    struct persist_epoch epochs[EPOCHS_MAX];
    size_t epoch_count;
    struct rule rules[RULES_MAX];
    size_t rule_count;
    struct persist_op *first_op;
    struct persist_op **last_op;
    struct persist_read *first_read; /* that wait */
    struct persist_read **last_read;
    struct persist_read *first_carried; /* that are carried out and not answered */
    struct persist_read **last_carried;
    int64_t last_seq;
    uint64_t operations;
    struct persist_job *job;
    bool fail_next;
    bool fail_reads;
    const char *stored_profile; /* NULL: the right one */
    int fail_add_host;
    int fail_replay;
    const char *start_reason;
    int64_t clock_ms;
};

/* --- messages --------------------------------------------------------------------------------- */

static struct stored *find(struct fake *fake, uint32_t host, const uint8_t *id)
{
    for (size_t i = 0; i < fake->count; i++) {
        const struct persist_message *message = &fake->messages[i].message;
        if (message->host == host && memcmp(message->id, id, MESSAGE_ID_BYTES) == 0) {
            return &fake->messages[i];
        }
    }
    return NULL;
}

static size_t content_bytes(const struct persist_message *message)
{
    return message->filter_bytes + message->media_type_bytes + message->payload_bytes;
}

/* Copies a message; what it points to goes to `content`, CONTENT_MAX bytes. */
static void copy_message(const struct persist_message *message, uint8_t *content,
                         struct persist_message *out)
{
    uint8_t *at = content;

    if (content_bytes(message) > CONTENT_MAX) {
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

static void keep(struct stored *stored, const struct persist_message *message)
{
    copy_message(message, stored->content, &stored->message);
    stored->message.sender = 0; /* is not stored */
    stored->withdrawn = false;
    stored->words[0] = '\0';
}

static bool same_content(const struct persist_message *a, const struct persist_message *b)
{
    return a->epoch == b->epoch && a->reach_ppm == b->reach_ppm &&
           a->filter_bytes == b->filter_bytes && a->payload_bytes == b->payload_bytes &&
           a->media_type_bytes == b->media_type_bytes && a->can_withdraw == b->can_withdraw &&
           memcmp(a->filter, b->filter, a->filter_bytes) == 0 &&
           memcmp(a->payload, b->payload, a->payload_bytes) == 0 &&
           memcmp(a->media_type, b->media_type, a->media_type_bytes) == 0 &&
           memcmp(a->withdraw_hash, b->withdraw_hash, LIMIT_HASH_BYTES) == 0;
}

/* --- operations ------------------------------------------------------------------------------- */

/* Takes a message out; the last one comes in its place. */
static void take_out(struct fake *fake, size_t i, struct persist_op *op)
{
    struct persist_removed *removed = &op->removed[op->removed_count++];
    const struct persist_message *message = &fake->messages[i].message;

    removed->host = message->host;
    removed->epoch = message->epoch;
    memcpy(removed->id, message->id, MESSAGE_ID_BYTES);
    struct stored *last = &fake->messages[--fake->count];
    if (last != &fake->messages[i]) {
        const struct persist_message moved = last->message;
        keep(&fake->messages[i], &moved);
        fake->messages[i].seq = last->seq;
        fake->messages[i].withdrawn = last->withdrawn;
        memcpy(fake->messages[i].words, last->words, sizeof(last->words));
    }
}

static bool goes_before(const struct stored *a, const struct stored *b, enum persist_evict order)
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
        const struct stored *stored = &fake->messages[i];
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
        const struct stored *stored = &fake->messages[i];
        if (stored->message.host == op->message.host && !stored->withdrawn && stored->seq != but &&
            !is_chosen(op, stored->message.id)) {
            messages++;
            bytes += content_bytes(&stored->message);
        }
    }
    return messages >= op->evict_messages && bytes >= op->evict_bytes;
}

/* Makes the room that the deposit just stored asks for, or takes it back. */
static enum persist_outcome make_room(struct fake *fake, struct persist_op *op)
{
    const int64_t own = fake->last_seq;
    uint64_t messages = 0;
    uint64_t bytes = 0;

    if (!has_enough(fake, op, own)) {
        take_out(fake, (size_t)(find(fake, op->message.host, op->message.id) - fake->messages), op);
        op->removed_count = 0;
        return PERSIST_FULL;
    }
    for (uint32_t i = 0; i < op->chosen_count; i++) {
        const uint8_t *id = op->chosen + (size_t)i * MESSAGE_ID_BYTES;
        const struct stored *chosen = find(fake, op->message.host, id);
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
        bytes += content_bytes(&fake->messages[at].message);
        take_out(fake, at, op);
    }
    return PERSIST_APPLIED;
}

static bool same_rule(const struct persist_rule *a, const struct persist_rule *b)
{
    return a->host == b->host && a->kind == b->kind && a->value_bytes == b->value_bytes &&
           memcmp(a->value, b->value, a->value_bytes) == 0;
}

static enum persist_outcome deposit(struct fake *fake, struct persist_op *op)
{
    struct stored *stored = find(fake, op->message.host, op->message.id);

    if (stored != NULL && stored->message.expires_ms > op->now_ms) {
        if (stored->withdrawn) {
            return PERSIST_GONE;
        }
        if (!same_content(&stored->message, &op->message)) {
            return PERSIST_CONFLICT;
        }
        op->message.deposited_ms = stored->message.deposited_ms;
        op->message.expires_ms = stored->message.expires_ms;
        op->message.state = stored->message.state;
        op->message.reports = stored->message.reports;
        return PERSIST_DUPLICATE;
    }
    if (stored == NULL) {
        if (fake->count == MESSAGES_MAX) {
            abort();
        }
        stored = &fake->messages[fake->count++];
    }
    keep(stored, &op->message);
    stored->seq = ++fake->last_seq; /* also when it replaces one that expired */
    stored->message.seq = stored->seq;
    op->message.seq = stored->seq;
    op->removed_count = 0;
    return op->evict != PERSIST_EVICT_NONE || op->chosen_count > 0 ? make_room(fake, op)
                                                                   : PERSIST_APPLIED;
}

static enum persist_outcome withdraw(struct fake *fake, struct persist_op *op)
{
    struct stored *stored = find(fake, op->message.host, op->message.id);

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

static enum persist_outcome put_rule(struct fake *fake, const struct persist_rule *rule)
{
    size_t at = 0;

    while (at < fake->rule_count && !same_rule(&fake->rules[at].rule, rule)) {
        at++;
    }
    if (at == RULES_MAX) {
        abort();
    }
    fake->rules[at].rule = *rule;
    fake->rules[at].rule.value = fake->rules[at].value;
    memcpy(fake->rules[at].value, rule->value, rule->value_bytes);
    fake->rule_count += at == fake->rule_count;
    return PERSIST_APPLIED;
}

static enum persist_outcome drop_rule(struct fake *fake, const struct persist_rule *rule)
{
    for (size_t i = 0; i < fake->rule_count; i++) {
        if (same_rule(&fake->rules[i].rule, rule)) {
            fake->rules[i] = fake->rules[--fake->rule_count];
            fake->rules[i].rule.value = fake->rules[i].value;
            return PERSIST_APPLIED;
        }
    }
    return PERSIST_NOT_FOUND;
}

static enum persist_outcome remove_message(struct fake *fake, struct persist_op *op)
{
    struct stored *stored = find(fake, op->message.host, op->message.id);

    if (stored == NULL || stored->withdrawn || stored->message.expires_ms <= op->now_ms) {
        return PERSIST_NOT_FOUND;
    }
    stored->withdrawn = true;
    if (op->rule != NULL) {
        struct persist_rule rule = *op->rule;
        (void)crypto_generichash(op->payload_hash, LIMIT_HASH_BYTES, stored->message.payload,
                                 stored->message.payload_bytes, NULL, 0);
        rule.value = op->payload_hash;
        rule.value_bytes = LIMIT_HASH_BYTES;
        return put_rule(fake, &rule);
    }
    return PERSIST_APPLIED;
}

static void add_words(struct stored *stored, const char *words, size_t count)
{
    size_t lines = 0;

    for (const char *at = stored->words; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    if (lines == PERSIST_REASONS_KEPT) { /* the oldest goes */
        const char *next = strchr(stored->words, '\n') + 1;
        memmove(stored->words, next, strlen(next) + 1);
    }
    const size_t used = strlen(stored->words);
    (void)snprintf(stored->words + used, sizeof(stored->words) - used, "%.*s\n", (int)count, words);
}

/* What is shown now, and was not, takes a new number. */
static void show(struct fake *fake, struct stored *stored, struct persist_op *op)
{
    op->shown_seq = ++fake->last_seq;
    stored->seq = stored->message.seq = op->shown_seq;
}

static enum persist_outcome moderate(struct fake *fake, struct persist_op *op)
{
    struct stored *stored = find(fake, op->message.host, op->message.id);

    op->shown_seq = 0;
    if (stored == NULL || stored->withdrawn || stored->message.expires_ms <= op->now_ms ||
        stored->message.deposited_ms != op->message.deposited_ms) {
        return PERSIST_NOT_FOUND;
    }
    const bool is_report = op->message.reports > 0;
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
    op->removed_count = 0;
    for (size_t i = 0; i < fake->count && op->removed_count < op->limit;) {
        const struct persist_message *message = &fake->messages[i].message;
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
    tally->shown_bytes += content_bytes(message);
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
        if (message->state >= PERSIST_HIDDEN) {
            own = own != NULL ? own : open;
            own->hidden++;
            own->hidden_bytes += content_bytes(message);
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

static int begin_epoch(struct persist *persist, const struct persist_epoch *epoch, char *out_reason)
{
    struct fake *fake = (struct fake *)(void *)persist;
    (void)out_reason;

    if (fake->epoch_count == EPOCHS_MAX) {
        abort();
    }
    fake->epochs[fake->epoch_count++] = *epoch;
    return 0;
}

static int replay_epochs(struct persist *persist,
                         int (*visit)(void *context, const struct persist_epoch *epoch),
                         void *context, char *out_reason)
{
    struct fake *fake = (struct fake *)(void *)persist;
    int rc = 0;
    (void)out_reason;

    for (size_t i = 0; i < fake->epoch_count && rc == 0; i++) {
        rc = visit(context, &fake->epochs[i]);
    }
    return rc;
}

size_t fake_persist_epochs(const struct persist *persist)
{
    return ((const struct fake *)(const void *)persist)->epoch_count;
}

const struct persist_epoch *fake_persist_epoch(const struct persist *persist, size_t i)
{
    return &((const struct fake *)(const void *)persist)->epochs[i];
}

size_t fake_persist_commit(struct persist *persist)
{
    struct fake *fake = (struct fake *)(void *)persist;
    struct persist_op *op = fake->first_op;
    const bool failing = fake->fail_next;
    struct persist_job *job = fake->job;
    size_t count = 0;

    fake->job = NULL;
    if (job != NULL) {
        job->failed = failing;
        job->done(job);
    }

    fake->fail_next = false;
    fake->first_op = NULL;
    fake->last_op = &fake->first_op;
    while (op != NULL) {
        struct persist_op *next = op->next;
        if (failing) {
            op->outcome = PERSIST_FAILED;
        } else if (op->kind == PERSIST_DEPOSIT) {
            op->outcome = deposit(fake, op);
        } else if (op->kind == PERSIST_WITHDRAW) {
            op->outcome = withdraw(fake, op);
        } else if (op->kind == PERSIST_EPOCH) {
            (void)begin_epoch(persist, op->epoch, NULL);
            op->outcome = PERSIST_APPLIED;
        } else if (op->kind == PERSIST_HOST) {
            op->outcome = make_host(fake, op);
        } else if (op->kind == PERSIST_EXPIRE) {
            op->outcome = expire(fake, op);
        } else if (op->kind == PERSIST_REMOVE) {
            op->outcome = remove_message(fake, op);
        } else if (op->kind == PERSIST_MODERATE) {
            op->outcome = moderate(fake, op);
        } else if (op->kind == PERSIST_RULE_PUT) {
            op->outcome = put_rule(fake, op->rule);
        } else if (op->kind == PERSIST_RULE_DROP) {
            op->outcome = drop_rule(fake, op->rule);
        } else {
            tally(fake, op); /* of the clock's saving, nothing */
            op->outcome = PERSIST_APPLIED;
        }
        if (!failing && op->now_ms > fake->clock_ms) {
            fake->clock_ms = op->now_ms; /* the store saves it with everything */
        }
        op->reason = failing ? "the test lets it fail" : NULL;
        fake->operations++;
        op->done(op);
        op = next;
        count++;
    }
    return count;
}

/* --- reads ------------------------------------------------------------------------------------ */

/* Its own copy, which goes when the read is released. */
static void fill_entry(struct persist_read *read, const struct stored *stored,
                       struct persist_entry *out_entry)
{
    struct copy *copy = malloc(sizeof(*copy));

    if (copy == NULL) {
        abort();
    }
    copy->next = read->memory;
    read->memory = copy;
    copy_message(&stored->message, copy->content, &out_entry->message);
    memcpy(copy->words, stored->words, sizeof(copy->words));
    out_entry->reasons = copy->words[0] == '\0' ? NULL : copy->words;
    out_entry->reasons_bytes = strlen(copy->words);
    out_entry->found = true;
}

static void read_payloads(struct fake *fake, struct persist_read *read)
{
    for (size_t i = 0; i < read->entry_count; i++) {
        struct persist_entry *entry = &read->entries[i];
        const struct stored *stored = find(fake, entry->message.host, entry->message.id);
        entry->found = false;
        if (stored != NULL && !stored->withdrawn) {
            fill_entry(read, stored, entry);
        }
    }
}

/* The first message of the page behind position `after`; NULL: there is none. */
static const struct stored *next_of_page(const struct fake *fake, const struct persist_read *read,
                                         int64_t after)
{
    const bool is_check = read->kind == PERSIST_READ_CHECK; /* all hosts', hidden or not */
    const struct stored *next = NULL;

    for (size_t i = 0; i < fake->count; i++) {
        const struct stored *stored = &fake->messages[i];
        if ((is_check ||
             (stored->message.host == read->page_host && stored->message.state < PERSIST_HIDDEN)) &&
            !stored->withdrawn && stored->seq > after &&
            (next == NULL || stored->seq < next->seq)) {
            next = stored;
        }
    }
    return next;
}

static void read_page(struct fake *fake, struct persist_read *read)
{
    const size_t room = read->entry_count;
    const struct stored *next = NULL;
    size_t bytes = 0;

    read->entry_count = 0;
    read->page_last = read->page_after;
    while ((next = next_of_page(fake, read, read->page_last)) != NULL) {
        bytes += content_bytes(&next->message);
        if (read->entry_count == room ||
            (read->entry_count > 0 && bytes > read->page_bytes_limit)) {
            break;
        }
        fill_entry(read, next, &read->entries[read->entry_count++]);
        read->page_last = next->seq;
    }
    read->page_more = next != NULL;
}

void fake_persist_carry_out_reads(struct persist *persist)
{
    struct fake *fake = (struct fake *)(void *)persist;

    for (struct persist_read *read = fake->first_read; read != NULL; read = read->next) {
        read->memory = NULL;
        read->failed = fake->fail_reads;
        read->reason = read->failed ? "the test lets it fail" : NULL;
        if (read->failed) {
            continue;
        }
        if (read->kind == PERSIST_READ_PAGE || read->kind == PERSIST_READ_CHECK) {
            read_page(fake, read);
        } else {
            read_payloads(fake, read);
        }
    }
    if (fake->first_read != NULL) {
        *fake->last_carried = fake->first_read;
        fake->last_carried = fake->last_read;
    }
    fake->first_read = NULL;
    fake->last_read = &fake->first_read;
    fake->fail_reads = false;
}

size_t fake_persist_answer_reads(struct persist *persist)
{
    struct fake *fake = (struct fake *)(void *)persist;
    size_t count = 0;

    fake_persist_carry_out_reads(persist);
    struct persist_read *read = fake->first_carried;
    fake->first_carried = NULL;
    fake->last_carried = &fake->first_carried;
    while (read != NULL) {
        struct persist_read *next = read->next;
        read->done(read);
        read = next;
        count++;
    }
    return count;
}

void fake_persist_fail_reads(struct persist *persist)
{
    ((struct fake *)(void *)persist)->fail_reads = true;
}

/* --- the interface ---------------------------------------------------------------------------- */

static void give_reason(const struct fake *fake, char *out_reason)
{
    if (fake->start_reason != NULL) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%s", fake->start_reason);
    }
}

static int add_host(struct persist *persist, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason)
{
    const struct fake *fake = (const struct fake *)(const void *)persist;
    (void)profile;

    if (fake->fail_add_host != 0) {
        give_reason(fake, out_reason);
        return fake->fail_add_host;
    }
    if (fake->stored_profile != NULL) {
        (void)snprintf(out_profile, PROFILE_TEXT_MAX, "%s", fake->stored_profile);
        return PERSIST_PROFILE_CHANGED;
    }
    *out_host = (uint32_t)name[0]; /* tests give hosts different first letters */
    return 0;
}

static int replay(struct persist *persist,
                  int (*visit)(void *context, const struct persist_message *message), void *context,
                  char *out_reason)
{
    struct fake *fake = (struct fake *)(void *)persist;
    int rc = fake->fail_replay;

    if (rc != 0) {
        give_reason(fake, out_reason);
    }
    for (size_t i = 0; i < fake->count && rc == 0; i++) {
        if (!fake->messages[i].withdrawn) {
            rc = visit(context, &fake->messages[i].message);
        }
    }
    return rc;
}

static int replay_rules(struct persist *persist,
                        int (*visit)(void *context, const struct persist_rule *rule), void *context,
                        char *out_reason)
{
    const struct fake *fake = (const struct fake *)(const void *)persist;
    int rc = 0;
    (void)out_reason;

    for (size_t i = 0; i < fake->rule_count && rc == 0; i++) {
        rc = visit(context, &fake->rules[i].rule);
    }
    return rc;
}

static void submit(struct persist *persist, struct persist_op *op)
{
    struct fake *fake = (struct fake *)(void *)persist;

    op->next = NULL;
    *fake->last_op = op;
    fake->last_op = &op->next;
}

static void read_later(struct persist *persist, struct persist_read *read)
{
    struct fake *fake = (struct fake *)(void *)persist;

    read->next = NULL;
    *fake->last_read = read;
    fake->last_read = &read->next;
}

static void read_release(struct persist *persist, struct persist_read *read)
{
    struct copy *copy = read->memory;
    (void)persist;

    read->memory = NULL;
    while (copy != NULL) {
        struct copy *next = copy->next;
        memset(copy->content, 0x5a, sizeof(copy->content)); /* whoever still looks sees it */
        free(copy);
        copy = next;
    }
}

static void info(const struct persist *persist, struct persist_info *out_info)
{
    memset(out_info, 0, sizeof(*out_info));
    out_info->clock_ms = ((const struct fake *)(const void *)persist)->clock_ms;
    out_info->seq = ((const struct fake *)(const void *)persist)->last_seq;
}

static bool begin_job(struct persist *persist, struct persist_job *job)
{
    struct fake *fake = (struct fake *)(void *)persist;
    const bool is_free = fake->job == NULL;

    fake->job = is_free ? job : fake->job;
    return is_free;
}

static void cancel_job(struct persist *persist)
{
    (void)persist; /* what is under way ends with the next commit */
}

static void count(struct persist *persist, struct persist_counters *out_counters)
{
    *out_counters =
        (struct persist_counters){.operations = ((struct fake *)(void *)persist)->operations};
}

static const struct persist_interface interface = {
    .name = "fake",
    .add_host = add_host,
    .replay = replay,
    .replay_epochs = replay_epochs,
    .begin_epoch = begin_epoch,
    .replay_rules = replay_rules,
    .submit = submit,
    .read = read_later,
    .read_release = read_release,
    .begin_job = begin_job,
    .cancel_job = cancel_job,
    .info = info,
    .count = count,
};

struct persist *fake_persist_new(void)
{
    struct fake *fake = calloc(1, sizeof(*fake));

    if (fake == NULL || (fake->messages = calloc(MESSAGES_MAX, sizeof(*fake->messages))) == NULL) {
        abort();
    }
    fake->persist.interface = &interface;
    fake->last_op = &fake->first_op;
    fake->last_read = &fake->first_read;
    fake->last_carried = &fake->first_carried;
    return &fake->persist;
}

void fake_persist_free(struct persist *persist)
{
    struct fake *fake = (struct fake *)(void *)persist;

    free(fake->messages);
    free(fake);
}

void fake_persist_fail_next(struct persist *persist)
{
    ((struct fake *)(void *)persist)->fail_next = true;
}

size_t fake_persist_count(const struct persist *persist)
{
    return ((const struct fake *)(const void *)persist)->count;
}

void fake_persist_set_profile(struct persist *persist, const char *stored)
{
    ((struct fake *)(void *)persist)->stored_profile = stored;
}

void fake_persist_fail_start(struct persist *persist, int add_host_rc, int replay_rc,
                             const char *reason)
{
    struct fake *fake = (struct fake *)(void *)persist;

    fake->fail_add_host = add_host_rc;
    fake->fail_replay = replay_rc;
    fake->start_reason = reason;
}

void fake_persist_set_clock(struct persist *persist, int64_t clock_ms)
{
    ((struct fake *)(void *)persist)->clock_ms = clock_ms;
}
