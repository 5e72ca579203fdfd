/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/character.h"

static bool is_text(const char *media_type)
{
    static const char plain[] = "text/plain";

    return media_type != NULL && strncmp(media_type, plain, sizeof(plain) - 1) == 0 &&
           strchr("; ", media_type[sizeof(plain) - 1]) != NULL;
}

/*
 * The text of a message. NULL: the page has none to show, because it is of another kind, or because
 * nothing can be seen of it. hearsayd takes no such text, but another access point, or a hearsayd
 * of 0.2.0, may have.
 */
static const char *text_of(const char *media_type, const void *payload, size_t bytes)
{
    return is_text(media_type) && character_any_seen(payload, bytes) ? payload : NULL;
}

bool answer_borrow(const struct hearsay_result *result, struct board_message *out_message)
{
    const char *type = result->media_type.text != NULL ? result->media_type.text
                       : result->payload_omitted       ? "text/plain"
                                                       : "";

    if (strcmp(type, HEARSAY_SEALED_TYPE) == 0) {
        return false;
    }
    *out_message = (struct board_message){
        .media_type = type,
        .text = text_of(type, result->payload.data, result->payload.count),
        .bytes = result->payload.count,
        .is_omitted = result->payload_omitted,
        .deposited_ms = result->deposited_ms,
        .expires_ms = result->expires_ms,
        .similarity_ppm = HEARSAY_DISTANCE_ONE - result->distance_ppm,
        .answer_count = result->answer_count,
    };
    memcpy(out_message->id, result->id.data, sizeof(out_message->id));
    return true;
}

/* Copies a text with its NUL to *room, and moves *room behind it. */
static const char *text_own(const char *text, char **room)
{
    size_t bytes = strlen(text) + 1;
    char *copy = *room;

    memcpy(copy, text, bytes);
    *room += bytes;
    return copy;
}

/* Copies media type, host and text of a message to *room, and moves *room behind them. */
static void message_own(struct board_message *message, char **room)
{
    message->media_type = text_own(message->media_type, room);
    message->host = message->host != NULL ? text_own(message->host, room) : NULL;
    if (message->text != NULL) {
        memcpy(*room, message->text, message->bytes);
        message->text = *room;
        *room += message->bytes;
    }
}

/* How much memory message_own() takes. Frames bound all sizes, so no sum can overflow. */
static size_t own_bytes(const struct board_message *message)
{
    return strlen(message->media_type) + 1 +
           (message->host != NULL ? strlen(message->host) + 1 : 0) +
           (message->text != NULL ? message->bytes : 0);
}

size_t answer_count(const struct hearsay_results *results)
{
    struct board_message one;
    size_t count = 0;

    for (size_t i = 0; i < results->result_count; i++) {
        count += answer_borrow(&results->results[i], &one);
    }
    return count;
}

/* answer_borrow, with the host of the message unless it is `host`. */
static bool borrow_of_host(const struct hearsay_result *result, const char *host,
                           struct board_message *out_message)
{
    if (!answer_borrow(result, out_message)) {
        return false;
    }
    if (result->host.text != NULL && strcmp(result->host.text, host) != 0) {
        out_message->host = result->host.text;
    }
    return true;
}

/*
 * Returns how many of the first `count` messages are newer than `next_ms`, the time of the first
 * message of the next page; if none is newer, `count`. The link to the next page has the time of
 * the last message here, and the next page shows older messages only. If this page ended between
 * two messages of the same millisecond, neither page would show the second one.
 */
static size_t whole_moments(const struct hearsay_results *results, size_t count, int64_t next_ms)
{
    struct board_message one;
    size_t newer = 0;

    for (size_t i = 0; i < results->result_count && newer < count; i++) {
        if (answer_borrow(&results->results[i], &one)) {
            if (one.deposited_ms == next_ms) {
                break;
            }
            newer++;
        }
    }
    return newer > 0 ? newer : count;
}

struct answer *answer_of_results(const struct hearsay_results *results, size_t most,
                                 bool is_by_time, const char *host, struct topics_finder *finder)
{
    struct board_message one;
    size_t count = 0;
    size_t sealed = 0;
    size_t bytes = 0;
    bool has_more = false;

    for (size_t i = 0; i < results->result_count && !has_more; i++) {
        if (!answer_borrow(&results->results[i], &one)) {
            sealed++;
        } else if (count < most) {
            count++;
        } else {
            has_more = true;
        }
    }
    if (has_more && is_by_time) {
        count = whole_moments(results, count, one.deposited_ms);
    }
    for (size_t i = 0, seen = 0; seen < count; i++) {
        if (borrow_of_host(&results->results[i], host, &one)) {
            bytes += own_bytes(&one);
            seen++;
        }
    }
    struct answer *answer = calloc(1, sizeof(*answer) + count * sizeof(one) + bytes);
    if (answer == NULL) {
        return NULL;
    }
    struct board_message *messages = (struct board_message *)(answer + 1);
    char *room = (char *)(messages + count);
    for (size_t i = 0, filled = 0; filled < count; i++) {
        if (borrow_of_host(&results->results[i], host, &messages[filled])) {
            messages[filled].topics = topics_find(finder, &results->results[i]);
            message_own(&messages[filled++], &room);
        }
    }
    answer->list = (struct board_list){.messages = messages,
                                       .count = count,
                                       .sealed = sealed,
                                       .has_older = has_more,
                                       .is_partial = results->as_of_ms > 0 &&
                                                     !results->complete}; /* as_of_ms: of a hood */
    return answer;
}

bool board_list_has(const struct board_list *list, const uint8_t *id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (memcmp(list->messages[i].id, id, HEARSAY_ID_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

void answer_begin_older(struct answer *answer, const struct hearsay_results *wide)
{
    struct board_message message;

    answer->list.has_older = true;
    for (size_t i = 0; i < wide->result_count; i++) {
        if (answer_borrow(&wide->results[i], &message) &&
            !board_list_has(&answer->list, message.id)) {
            answer->list.older_before_ms = message.deposited_ms + 1;
            return;
        }
    }
}

struct answer *answer_of_message(const struct hearsay_got *got)
{
    struct board_message borrowed = {
        .media_type = got->media_type.text,
        .text = text_of(got->media_type.text, got->payload.data, got->payload.count),
        .bytes = got->payload.count,
        .deposited_ms = got->deposited_ms,
        .expires_ms = got->expires_ms,
        .answer_count = got->answer_count,
        .epoch = got->epoch,
        .is_answer = got->answers.data != NULL,
    };
    if (borrowed.is_answer) {
        memcpy(borrowed.parent, got->answers.data, sizeof(borrowed.parent));
    }
    struct answer *answer = calloc(1, sizeof(*answer) + own_bytes(&borrowed));

    if (answer != NULL) {
        char *room = (char *)(answer + 1);

        memcpy(borrowed.id, got->id.data, sizeof(borrowed.id));
        answer->message = borrowed;
        message_own(&answer->message, &room);
    }
    return answer;
}

/* Adds the here labels to the empty set by the rule of all clients. */
static int take_labels(const struct hearsay_host *host, const struct hearsay_here_labels *here,
                       struct hearsay_context *context)
{
    struct hearsay_host there = *host;

    there.here = here->labels;
    there.here_count = here->label_count;
    return hearsay_context_add_here(context, &there, NULL);
}

/* Writes as many labels as a view has room for, a line feed behind each. */
static void write_place(const struct hearsay_context *context, char out_place[VIEW_PLACE_BYTES])
{
    size_t count = 0;
    size_t used = 0;
    const char *const *labels = hearsay_context_labels(context, &count);

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(labels[i]);

        if (used + length + 1 < VIEW_PLACE_BYTES) {
            memcpy(out_place + used, labels[i], length);
            out_place[used + length] = '\n';
            used += length + 1;
        }
    }
    out_place[used] = '\0';
}

struct answer *answer_of_labels(const struct hearsay_host *host,
                                const struct hearsay_here_labels *here)
{
    char place[VIEW_PLACE_BYTES];
    const char *name = here->name.text != NULL ? here->name.text : "";
    struct hearsay_context *context = NULL;
    struct answer *answer = NULL;

    if (hearsay_context_new(&context, NULL) == HEARSAY_OK &&
        take_labels(host, here, context) == HEARSAY_OK) {
        write_place(context, place);
        answer = calloc(1, sizeof(*answer) + strlen(place) + 1 + strlen(name) + 1);
    }
    hearsay_context_free(context);
    if (answer != NULL) {
        char *room = (char *)(answer + 1);

        answer->place = text_own(place, &room);
        answer->place_name = text_own(name, &room);
    }
    return answer;
}

struct answer *answer_of_places(const struct hearsay_here_labels *here)
{
    size_t bytes = 1;

    for (size_t i = 0; i < here->place_count; i++) {
        bytes += here->places[i].length + 1;
    }
    struct answer *answer = calloc(1, sizeof(*answer) + bytes);
    if (answer == NULL) {
        return NULL;
    }
    char *room = (char *)(answer + 1);
    answer->place = room;
    for (size_t i = 0; i < here->place_count; i++) {
        memcpy(room, here->places[i].text, here->places[i].length);
        room += here->places[i].length;
        *room++ = '\n';
    }
    *room = '\0';
    return answer;
}

const char *board_fault_of(const struct hearsay *server)
{
    if (!hearsay_has_capability(server, "on_behalf")) {
        return "hearsayd does not know on_behalf here: mark its `listen` line with the word "
               "gateway";
    }
    return hearsay_has_capability(server, "request_on_behalf")
               ? NULL
               : "hearsayd is older than this hearsay-web, and would let phones read without "
                 "limits: update hearsayd";
}

enum board_outcome answer_outcome(const struct hearsay_error *error)
{
    switch (error->status) {
    case HEARSAY_ERR_NOMEM:
        return BOARD_NO_MEMORY;
    case HEARSAY_ERR_ARGUMENT:
        return BOARD_REFUSED;
    case HEARSAY_ERR_REFUSED:
        break;
    default:
        return BOARD_AWAY;
    }
    switch (error->code) {
    case HEARSAY_CODE_RATE_LIMITED:
        return BOARD_LIMITED;
    case HEARSAY_CODE_NOT_FOUND:
        return BOARD_GONE;
    case HEARSAY_CODE_REMOVED:
        return BOARD_REMOVED;
    case HEARSAY_CODE_QUOTA:
        return BOARD_FULL;
    case HEARSAY_CODE_SHUTTING_DOWN:
        return BOARD_AWAY;
    default:
        return BOARD_REFUSED;
    }
}

void answer_fault(struct hearsay_error *error, int status, enum hearsay_code code,
                  const char *sentence)
{
    *error = (struct hearsay_error){.status = status, .code = code};
    (void)snprintf(error->sentence, sizeof(error->sentence), "%s", sentence);
}
