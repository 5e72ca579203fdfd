/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reported: lists the messages that are reported or hidden, that wait for review, or that the
 * operator has hidden or removed; or all messages, page by page. Wait: is answered when a message
 * is new for the operator.
 */
#include <string.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"

enum { LIST_MAX = 128 /* messages in an answer */ };

static const char cursor_text[] =
    "this is no cursor of this list; take `next` or `previous` of another page of it";

/* --- one place -------------------------------------------------------------------------------- */

/*
 * With `place`, the messages of other places are left out when they have been read. More are read
 * than the answer may have then; if all of them are of other places, the next ones are read.
 */
struct wanted {
    size_t most; /* messages of the answer */
    size_t name_bytes;
    char name[LIMIT_PLACE_NAME_BYTES]; /* of the place; empty: all places */
};

/* How many messages an answer has at most. limit: of the request; 0: it has none. */
static size_t choose_most(uint32_t limit)
{
    return limit == 0 || limit > LIST_MAX ? LIST_MAX : limit;
}

static struct wanted wanted_of(const struct hearsay_reported *asked)
{
    struct wanted wanted = {.most = choose_most(asked->limit), .name_bytes = asked->place.length};

    memcpy(wanted.name, asked->place.length > 0 ? asked->place.text : "", asked->place.length);
    return wanted;
}

/* How many messages to read. */
static size_t wanted_reads(const struct wanted *wanted)
{
    return wanted->name_bytes > 0 ? LIST_MAX : wanted->most;
}

/* Whether a message belongs into the answer. */
static bool is_wanted(const struct wanted *wanted, const struct host *host,
                      const struct persist_message *message)
{
    struct hearsay_text name = {wanted->name, wanted->name_bytes};
    struct hearsay_text labels[LIMIT_LABELS];

    return wanted->name_bytes == 0 ||
           handler_is_left_at(host, message, labels, here_map_place(host->here_map, &name, labels));
}

/* --- what needs a decision -------------------------------------------------------------------- */

struct reported_job {
    struct job base; /* first */
    struct persist_read read;
    struct wanted wanted;
    struct hearsay_reported asked; /* `after` points to `cursor` from the second read on */
    uint8_t cursor[REVIEW_CURSOR_BYTES];
    uint64_t total;
    bool has_more; /* the list has messages behind these */
    /* copies of the moderation entries, made when the request arrived */
    struct review_place places[LIST_MAX + 1];
    struct persist_entry entries[LIST_MAX];
};

/*
 * Chooses the messages of the answer. False: the job was answered with an error. One more message
 * than the answer may have is looked for, to know whether there is a next page.
 */
static bool reported_choose(struct reported_job *job)
{
    size_t most = wanted_reads(&job->wanted);
    const struct host *host = job->base.host;
    int chosen = review_choose(&host->moderation, &job->asked, service_now_ms(job->base.service),
                               most + 1, job->places, &job->total);

    if (chosen == REVIEW_NO_CURSOR) {
        job_fail(&job->base, HEARSAY_CODE_INVALID, "after", cursor_text);
        return false;
    }
    if (chosen < 0) {
        job_fail_memory(&job->base);
        return false;
    }
    job->has_more = (size_t)chosen > most;
    job->read.entry_count = job->has_more ? most : (size_t)chosen;
    for (size_t i = 0; i < job->read.entry_count; i++) {
        job->entries[i].message.host = host->number;
        memcpy(job->entries[i].message.id, job->places[i].moderated.id, MESSAGE_ID_BYTES);
    }
    return true;
}

/*
 * Splits the reasons of a message, one on each line, into structs in the arena. Returns the number
 * of reasons, or 0 if memory is short.
 */
static size_t split_reasons(struct service *service, const struct persist_entry *entry,
                            const struct hearsay_report_reason **out_reasons)
{
    const char *at = entry->reasons;
    const char *end = at == NULL ? NULL : at + entry->reasons_bytes;
    size_t count = 0;
    struct hearsay_report_reason *reasons =
        at == NULL ? NULL
                   : arena_take_zeroed(&service->arena, PERSIST_REASONS_KEPT, sizeof(*reasons));

    while (reasons != NULL && at < end && count < PERSIST_REASONS_KEPT) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        reasons[count].kind = (enum hearsay_report_kind)(at[0] - '0');
        if (stop - at > 1) {
            reasons[count].text = (struct hearsay_text){at + 1, (size_t)(stop - at) - 1};
        }
        count++;
        at = stop + 1;
    }
    *out_reasons = reasons;
    return count;
}

enum { CURSOR_FIELD_BYTES = REVIEW_CURSOR_BYTES + 2 }; /* with its tag and its length */
enum { REASON_TAG_BYTES = 9 }; /* upper bound for a reason without its text: tags, lengths, kind */

/*
 * Sets the media type and the reasons of a message from what the store has read. Returns an upper
 * bound of the bytes that the message takes in the answer without its payload.
 */
static size_t describe_entry(struct service *service, const struct persist_entry *entry,
                             struct hearsay_reported_message *out)
{
    if (!entry->omitted) {
        out->media_type =
            (struct hearsay_text){entry->message.media_type, entry->message.media_type_bytes};
    }
    if (entry->message.is_answer) {
        out->answers = (struct hearsay_bytes){entry->message.answers, MESSAGE_ID_BYTES};
    }
    out->reason_count = split_reasons(service, entry, &out->reasons);
    size_t bytes = CODEC_REPORTED_MESSAGE_BARE_BYTES_MAX + out->media_type.length;

    for (size_t i = 0; i < out->reason_count; i++) {
        bytes += out->reasons[i].text.length + REASON_TAG_BYTES;
    }
    return bytes;
}

/*
 * Fills in messages, in order, until one does not fit the frame, or had no room among what was read
 * (`omitted`): the next page begins with it. The first one comes without its reasons or its payload
 * if these do not fit. Returns the number of messages, and in *out_used how many places of the list
 * these and the messages between them that have gone take.
 */
static size_t fill_list(struct reported_job *job, struct hearsay_reported_message *messages,
                        size_t *out_used)
{
    size_t frame_bytes = job->base.service->config.limits.frame_bytes;
    size_t used = CODEC_ENVELOPE_BYTES_MAX + CURSOR_FIELD_BYTES;
    size_t count = 0;
    size_t i = 0;

    for (; i < job->read.entry_count; i++) {
        const struct persist_entry *entry = &job->entries[i];
        const struct moderated *moderated = &job->places[i].moderated;
        if (count == job->wanted.most || (i > 0 && entry->found && entry->omitted)) {
            break;
        }
        if (!entry->found || !is_wanted(&job->wanted, job->base.host, &entry->message)) {
            continue;
        }
        struct hearsay_reported_message *out = &messages[count];
        *out = (struct hearsay_reported_message){
            .id = {moderated->id, MESSAGE_ID_BYTES},
            .reports = moderated->reports,
            .hidden = moderated->state >= PERSIST_HIDDEN,
            .pending = moderated->state == PERSIST_PENDING,
            .deposited_ms = moderated->deposited_ms,
            .expires_ms = moderated->expires_ms,
            .payload_omitted = entry->omitted,
            .destroyed_ms = moderated->destroy_ms,
        };
        size_t bytes = describe_entry(job->base.service, entry, out);
        if (count == 0 && used + bytes > frame_bytes) { /* or no page would ever get past it */
            out->reason_count = 0;
            bytes = CODEC_REPORTED_MESSAGE_BARE_BYTES_MAX + out->media_type.length;
        }
        used += bytes;
        if (count > 0 &&
            (used > frame_bytes || entry->message.payload_bytes > frame_bytes - used)) {
            break;
        }
        if (!entry->omitted && entry->message.payload_bytes <= frame_bytes - used) {
            used += entry->message.payload_bytes;
            out->payload =
                (struct hearsay_bytes){entry->message.payload, entry->message.payload_bytes};
        } else {
            out->payload_omitted = true;
        }
        count++;
    }
    *out_used = i;
    return count;
}

/* Room in the arena for what was read. NULL: the read failed, or there is no memory, and the job
 * has ended. */
static struct hearsay_reported_message *take_messages(struct job *job,
                                                      const struct persist_read *read)
{
    struct hearsay_reported_message *messages = NULL;

    if (read->failed) {
        job_fail_read(job, read->reason);
        return NULL;
    }
    messages = arena_take_zeroed(&job->service->arena, read->entry_count + 1, sizeof(*messages));
    if (messages == NULL) {
        job_fail_memory(job);
    }
    return messages;
}

static void on_list_read(struct persist_read *read)
{
    struct reported_job *job = CONTAINER_OF(read, struct reported_job, read);
    struct service *service = job->base.service;
    struct hearsay_reported_message *messages = take_messages(&job->base, read);

    if (messages == NULL) {
        return;
    }
    size_t used = 0;
    struct hearsay_response response = {
        .id = job->base.request_id,
        .kind = HEARSAY_RESPONSE_REPORTED_LIST,
        .reported_list = {.message_count = fill_list(job, messages, &used),
                          .messages = messages,
                          .total = job->wanted.name_bytes > 0 ? 0 : job->total},
    };
    if (used > 0 && (used < read->entry_count || job->has_more)) {
        review_write_cursor(&job->places[used - 1], job->cursor);
        response.reported_list.next = (struct hearsay_bytes){job->cursor, sizeof(job->cursor)};
    }
    /* Else the page may be empty, if all of its messages have gone meanwhile. */
    bool reads_on = job->wanted.name_bytes > 0 || used < read->entry_count;
    if (reads_on && response.reported_list.message_count == 0 &&
        response.reported_list.next.data != NULL) {
        arena_reset(&service->arena);
        job_release(&job->base);
        job->asked.after = response.reported_list.next;
        if (reported_choose(job)) {
            job_read(&job->base, read);
        }
        return;
    }
    job_finish(&job->base, &response);
    arena_reset(&service->arena);
}

/* --- all messages ----------------------------------------------------------------------------- */

/*
 * The store's thread reads a page in the order in which messages came onto the board. So the loop
 * never walks over all messages, and a page costs the same however many the host has. Messages of
 * other hosts that lie between cost the thread a step each.
 *
 * A cursor is a direction and a number of a message (seq), as 8 big-endian bytes. Numbers are never
 * given twice. So a page stays where it is while messages come and go, and also if the message of
 * the cursor itself goes.
 *
 *    'o' 00 00 00 00 00 00 04 d2   messages with smaller numbers than 1234, which are older
 *    'n' 00 00 00 00 00 00 04 d2   messages with greater numbers, which are newer
 */
enum { CURSOR_OLDER = 'o', CURSOR_NEWER = 'n', CURSOR_BYTES = 9 };

struct page_job {
    struct job base; /* first */
    struct persist_read read;
    struct wanted wanted;
    bool has_cursor;
    struct persist_entry entries[];
};

static void write_cursor(uint8_t direction, int64_t seq, uint8_t *out)
{
    out[0] = direction;
    for (size_t i = 1; i < CURSOR_BYTES; i++) {
        out[i] = (uint8_t)((uint64_t)seq >> (8 * (CURSOR_BYTES - 1 - i)));
    }
}

/* Reads the cursor of a request into the read. False: it is not a cursor of this list. */
static bool read_cursor(const struct hearsay_bytes *cursor, struct persist_read *read)
{
    uint64_t seq = 0;

    if (cursor->count != CURSOR_BYTES ||
        (cursor->data[0] != CURSOR_OLDER && cursor->data[0] != CURSOR_NEWER)) {
        return false;
    }
    for (size_t i = 1; i < CURSOR_BYTES; i++) {
        seq = seq << 8 | cursor->data[i];
    }
    read->page_newer = cursor->data[0] == CURSOR_NEWER;
    read->page_after = seq < INT64_MAX ? (int64_t)seq : 0;
    return seq < INT64_MAX && (seq > 0 || read->page_newer);
}

static void fill_message(const struct host *host, const struct persist_message *stored,
                         struct hearsay_reported_message *out)
{
    const struct moderated *moderated = moderation_find(&host->moderation, stored->id);

    *out = (struct hearsay_reported_message){
        .id = {stored->id, MESSAGE_ID_BYTES},
        .deposited_ms = stored->deposited_ms,
        .expires_ms = stored->expires_ms,
    };
    if (moderated != NULL) {
        out->reports = moderated->reports;
        out->hidden = moderated->state >= PERSIST_HIDDEN;
        out->pending = moderated->state == PERSIST_PENDING;
        out->destroyed_ms = moderated->destroy_ms;
    }
}

/* Whether the message has left the host since it was read: removed by an operator, withdrawn,
 * expired or evicted. What is hidden or waits for review is not in the index. */
static bool has_gone(const struct host *host, const struct hearsay_reported_message *message)
{
    struct index_item item;

    return message->destroyed_ms != 0 ||
           (!message->hidden && !message->pending && !host_item(host, message->id.data, &item));
}

/*
 * Fills in messages in the order in which they were read, until one does not fit the frame. The
 * first one comes without its reasons or its payload if these do not fit. *out_read: how many
 * entries were used. Returns the number of messages, which is smaller if some have left the host
 * since they were read.
 */
static size_t fill_page(const struct page_job *job, struct hearsay_reported_message *messages,
                        size_t *out_read)
{
    struct service *service = job->base.service;
    size_t frame_bytes = service->config.limits.frame_bytes;
    size_t used = CODEC_ENVELOPE_BYTES_MAX + 2 * CURSOR_FIELD_BYTES;
    size_t count = 0;
    size_t at = 0;

    for (; at < job->read.entry_count; at++) {
        const struct persist_message *stored = &job->entries[at].message;
        struct hearsay_reported_message *out = &messages[count];

        if (count == job->wanted.most) {
            break;
        }
        fill_message(job->base.host, stored, out);
        if (has_gone(job->base.host, out) || !is_wanted(&job->wanted, job->base.host, stored)) {
            continue;
        }
        size_t bytes = describe_entry(service, &job->entries[at], out);
        if (count == 0 && used + bytes > frame_bytes) { /* or no page would ever get past it */
            out->reason_count = 0;
            bytes = CODEC_REPORTED_MESSAGE_BARE_BYTES_MAX + out->media_type.length;
        }
        used += bytes;
        if (count > 0 && (used > frame_bytes || stored->payload_bytes > frame_bytes - used)) {
            break;
        }
        if (stored->payload_bytes <= frame_bytes - used) {
            out->payload = (struct hearsay_bytes){stored->payload, stored->payload_bytes};
            used += stored->payload_bytes;
        } else {
            out->payload_omitted = true;
        }
        count++;
    }
    *out_read = at;
    return count;
}

static void reverse_messages(struct hearsay_reported_message *messages, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct hearsay_reported_message kept = messages[i];

        messages[i] = messages[count - 1 - i];
        messages[count - 1 - i] = kept;
    }
}

/*
 * Sets the cursors behind both ends of a page. read_count: of the entries, those that the page has
 * used. `cursors` is memory for two of them.
 */
static void set_cursors(const struct page_job *job, size_t read_count,
                        struct hearsay_reported_list *list, uint8_t cursors[2][CURSOR_BYTES])
{
    const struct persist_read *read = &job->read;
    bool more = read->page_more || read_count < read->entry_count;
    /* The ends of the page; both are at the cursor if nothing was read. */
    int64_t near = read->page_newer ? read->page_after + 1 : read->page_after - 1;
    int64_t far = read->page_after;

    if (read_count > 0) {
        near = read->entries[0].message.seq;
        far = read->entries[read_count - 1].message.seq;
    }
    /* What lies behind the side from which the page was read is known from its cursor only. */
    bool has_next = read->page_newer || more;
    bool has_previous = read->page_newer ? more : job->has_cursor;

    if (has_next) {
        write_cursor(CURSOR_OLDER, read->page_newer ? near : far, cursors[0]);
        list->next = (struct hearsay_bytes){cursors[0], CURSOR_BYTES};
    }
    if (has_previous) {
        write_cursor(CURSOR_NEWER, read->page_newer ? far : near, cursors[1]);
        list->previous = (struct hearsay_bytes){cursors[1], CURSOR_BYTES};
    }
}

static void on_page_read(struct persist_read *read)
{
    struct page_job *job = CONTAINER_OF(read, struct page_job, read);
    struct service *service = job->base.service;
    struct hearsay_response response = {.id = job->base.request_id,
                                        .kind = HEARSAY_RESPONSE_REPORTED_LIST};
    uint8_t cursors[2][CURSOR_BYTES];
    size_t read_count;
    struct hearsay_reported_message *messages = take_messages(&job->base, read);

    if (messages == NULL) {
        return;
    }
    response.reported_list.message_count = fill_page(job, messages, &read_count);
    response.reported_list.messages = messages;
    if (job->wanted.name_bytes > 0 && response.reported_list.message_count == 0 &&
        read->page_more) {
        arena_reset(&service->arena);
        job_release(&job->base);
        read->page_after = read->entries[read->entry_count - 1].message.seq;
        read->entry_count = wanted_reads(&job->wanted);
        job_read(&job->base, read);
        return;
    }
    set_cursors(job, read_count, &response.reported_list, cursors);
    if (read->page_newer) {
        reverse_messages(messages, response.reported_list.message_count);
    }
    job_finish(&job->base, &response);
    arena_reset(&service->arena);
}

static void ask_page(struct ask *ask)
{
    const struct hearsay_reported *asked = &ask->request->reported;
    struct wanted wanted = wanted_of(asked);
    size_t most = wanted_reads(&wanted);
    struct persist_read read = {.kind = PERSIST_READ_LIST,
                                .entry_count = most,
                                .page_host = ask->host->number,
                                .page_filters = wanted.name_bytes > 0,
                                .page_after = INT64_MAX,
                                .page_now_ms = service_now_ms(ask->service),
                                .page_bytes_limit = ask->service->config.limits.frame_bytes,
                                .done = on_page_read};

    if (asked->after.data != NULL && !read_cursor(&asked->after, &read)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "after", "%s", cursor_text);
        return;
    }
    struct page_job *job = job_new(ask, sizeof(*job) + most * sizeof(job->entries[0]), 0);
    if (job == NULL) {
        return;
    }
    job->has_cursor = asked->after.data != NULL;
    job->wanted = wanted;
    job->read = read;
    job->read.entries = job->entries;
    job_read(&job->base, &job->read);
}

/* --- requests --------------------------------------------------------------------------------- */

void handler_reported(struct ask *ask)
{
    const struct hearsay_reported *asked = &ask->request->reported;
    struct hearsay_text labels[LIMIT_LABELS];

    if (!ask_host(ask, &asked->host)) {
        return;
    }
    if (asked->pending + asked->withheld + asked->all > 1) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, asked->all ? "all" : "withheld",
                   "pending, withheld and all are different lists: ask for one of them");
        return;
    }
    if (asked->place.length > 0 &&
        here_map_place(ask->host->here_map, &asked->place, labels) == 0) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "place", "%s", handler_no_place_text);
        return;
    }
    if (asked->all) {
        ask_page(ask);
        return;
    }
    struct reported_job *job = job_new(ask, sizeof(*job), 0);
    if (job == NULL) {
        return;
    }
    job->read.kind = PERSIST_READ_REPORTED;
    job->read.entries = job->entries;
    job->read.content_limit = ask->service->config.limits.frame_bytes;
    job->read.done = on_list_read;
    job->wanted = wanted_of(asked);
    job->asked = *asked;
    if (reported_choose(job)) {
        job_read(&job->base, &job->read);
    }
}

void handler_wait(struct ask *ask)
{
    if (!ask_host(ask, &ask->request->wait.host)) {
        return;
    }
    if (wait_begin(ask->service, ask->client, ask->host, ask->request->id) != 0) {
        ask_refuse(ask, HEARSAY_CODE_QUOTA, "wait",
                   "a connection has one wait at a time, and all together have 16");
    }
}
