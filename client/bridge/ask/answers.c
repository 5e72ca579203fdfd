/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/home.h"

#include <stdlib.h>
#include <string.h>

#include "client/bridge/wire/subject.h"
#include "proto/codec/letter.h"
#include "proto/price.h"

/* --- to the neighbour ------------------------------------------------------------------------- */

/* False: the results do not fit a letter, or the hub takes no more now. */
static bool send_results(const struct answers *answers, const char *reply,
                         const struct msg_peer_results *results)
{
    struct msg_letter letter = {.kind = MSG_LETTER_PEER_RESULTS, .peer_results = *results};
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    bool is_sent = letter_encode(&letter, &bytes) == 0;
    struct wire_letter sent = {.subject = reply, .data = bytes.data, .size = bytes.count};

    is_sent = is_sent && wire_publish(answers->wire, &sent);
    bytes_deinit(&bytes);
    return is_sent;
}

/* An answer without results: the neighbour need not wait. */
static void refuse_query(struct answers *answers, const char *reply)
{
    struct msg_peer_results results = {.has_results = false};

    answers->refused++;
    if (answers->link != NULL) {
        results.store_id = (struct hearsay_bytes){
            hearsay_welcome(link_server(answers->link))->store_id, LIMIT_ID_BYTES};
        (void)send_results(answers, reply, &results);
    }
}

static void send_answer(struct answers *answers, const char *reply,
                        const struct hearsay_results *found)
{
    struct msg_peer_results results = {
        .store_id = {hearsay_welcome(link_server(answers->link))->store_id, LIMIT_ID_BYTES},
        .seq = found->seq,
        .has_results = true,
        .results = *found,
    };

    results.results.notices = NULL; /* they are of this house */
    results.results.notice_count = 0;
    if (send_results(answers, reply, &results)) {
        answers->answered++;
    } else {
        refuse_query(answers, reply);
    }
}

/* --- to hearsayd ------------------------------------------------------------------------------ */

/* Whether a neighbour may ask this: messages of epochs do not leave the site. */
static bool is_open(const struct hearsay_query *query)
{
    for (size_t i = 0; i < query->part_count; i++) {
        if (query->parts[i].epoch != 0) {
            return false;
        }
    }
    return true;
}

/* Takes what the query costs beyond the token that was taken when it came. */
static bool pay_rest(struct answers *answers, const char *asker, const struct hearsay_query *asked,
                     int64_t now_ms)
{
    uint32_t pages = asked->k > 0 ? (asked->k - 1) / ANSWERS_PAGE : 0;
    uint32_t rest = price_of_query(asked) + pages - 1;

    return rest == 0 || rates_take(&answers->rates, asker, answers->per_minute, rest, now_ms);
}

static bool submit_letter(struct answers *answers, const struct msg_letter *letter,
                          const char *asker, int64_t now_ms, uint64_t *out_ticket)
{
    const struct hearsay_query *asked = &letter->peer_query.query;
    struct hearsay_error error;
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_QUERY, .query = *asked};

    if (letter->kind != MSG_LETTER_PEER_QUERY || !is_open(asked) ||
        !pay_rest(answers, asker, asked, now_ms)) {
        return false;
    }
    request.query.host = (struct hearsay_text){answers->host, strlen(answers->host)};
    request.query.scope = HEARSAY_SCOPE_HERE;
    if (asked->order != HEARSAY_ORDER_NEWEST) { /* TIME sorts the messages of SIMILARITY */
        request.query.order = HEARSAY_ORDER_SIMILARITY;
    }
    request.query.wait_ms = LIMIT_WAIT_MS_DEFAULT;
    request.query.max_staleness_ms = UINT64_MAX;
    if (hearsay_submit(link_server(answers->link), &request, out_ticket, &error) != HEARSAY_OK) {
        return false;
    }
    link_submitted(answers->link);
    return true;
}

static bool submit_query(struct answers *answers, const struct answers_query *query, int64_t now_ms,
                         uint64_t *out_ticket)
{
    struct msg_letter letter;
    struct msg_error error;
    struct arena arena;

    arena_init(&arena, alloc_system(), query->size + CODEC_REQUEST_ARENA_BYTES);
    bool is_sent = letter_decode(query->letter, query->size, &arena, &letter, &error) == 0 &&
                   submit_letter(answers, &letter, query->asker, now_ms, out_ticket);
    arena_deinit(&arena);
    return is_sent;
}

static struct answers_query *find_sent(struct answers *answers, uint64_t ticket)
{
    for (size_t i = 0; i < ANSWERS_SENT_MAX; i++) {
        if (answers->sent[i].ticket == ticket) {
            return &answers->sent[i];
        }
    }
    return NULL;
}

/* Sends queries to hearsayd, as far as there is room. */
static void pump_queue(struct answers *answers, int64_t now_ms)
{
    struct answers_query *place;

    while (answers->waiting > 0 && (place = find_sent(answers, 0)) != NULL) {
        struct answers_query *query = &answers->queue[answers->first];

        answers->first = (answers->first + 1) % ANSWERS_QUEUE_MAX;
        answers->waiting--;
        if (now_ms - query->came_ms > ANSWERS_OLD_MS) {
            answers->refused++;
        } else if (submit_query(answers, query, now_ms, &query->ticket)) {
            *place = *query;
            place->letter = NULL;
        } else {
            refuse_query(answers, query->reply);
        }
        free(query->letter);
        *query = (struct answers_query){.ticket = 0};
    }
}

void answers_take(struct answers *answers, const struct wire_message *message, int64_t now_ms)
{
    const char *asker = subject_asker(message->subject);
    struct answers_query *query =
        &answers->queue[(answers->first + answers->waiting) % ANSWERS_QUEUE_MAX];

    if (message->reply[0] == '\0' || strlen(message->reply) >= sizeof(query->reply) ||
        !settings_is_name(asker, strlen(asker))) {
        return;
    }
    if (!rates_take(&answers->rates, asker, answers->per_minute, 1, now_ms) ||
        answers->link == NULL || answers->waiting == ANSWERS_QUEUE_MAX ||
        message->size > ANSWERS_BYTES_MAX || message->size == 0 ||
        (query->letter = malloc(message->size)) == NULL) {
        refuse_query(answers, message->reply);
        return;
    }
    memcpy(query->letter, message->data, message->size);
    memcpy(query->reply, message->reply, strlen(message->reply) + 1);
    memcpy(query->asker, asker, strlen(asker) + 1);
    query->size = message->size;
    query->came_ms = now_ms;
    answers->waiting++;
    pump_queue(answers, now_ms);
}

bool answers_respond(struct answers *answers, const struct hearsay_response *response,
                     int64_t now_ms)
{
    struct answers_query *query = response->id != 0 ? find_sent(answers, response->id) : NULL;

    if (query == NULL) {
        return false;
    }
    if (response->kind == HEARSAY_RESPONSE_RESULTS) {
        send_answer(answers, query->reply, &response->results);
    } else {
        refuse_query(answers, query->reply);
    }
    *query = (struct answers_query){.ticket = 0};
    pump_queue(answers, now_ms);
    return true;
}

void answers_clear(struct answers *answers)
{
    for (size_t i = 0; i < ANSWERS_QUEUE_MAX; i++) {
        free(answers->queue[i].letter);
        answers->queue[i] = (struct answers_query){.ticket = 0};
    }
    for (size_t i = 0; i < ANSWERS_SENT_MAX; i++) {
        answers->sent[i] = (struct answers_query){.ticket = 0};
    }
    answers->first = answers->waiting = 0;
}
