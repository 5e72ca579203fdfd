/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handler/inner.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/character.h"
#include "core/base/expiry.h"

static bool check_epoch(const struct ask *ask)
{
    const struct hearsay_deposit *deposit = &ask->request->deposit;
    const struct host *host = ask->host;

    if (ask_epoch(ask, deposit->epoch, "epoch") == NULL) {
        return false;
    }
    if (deposit->epoch == 0 && host->config.refuses_open) {
        ask_refuse(ask, HEARSAY_CODE_UNKNOWN_EPOCH, "epoch",
                   "host \"%s\" takes no messages in the open, only in epochs, whose keys are "
                   "given to those who are on site",
                   host->config.name);
        return false;
    }
    return true;
}

static bool check_sizes(const struct ask *ask)
{
    const struct hearsay_deposit *deposit = &ask->request->deposit;
    const struct hearsay_limits *limits = &ask->service->config.limits;

    if (deposit->payload.count > limits->payload_bytes) {
        ask_refuse(ask, HEARSAY_CODE_TOO_LARGE, "payload",
                   "the payload has %zu bytes; at most %" PRIu32 " are taken here",
                   deposit->payload.count, limits->payload_bytes);
        return false;
    }
    if (deposit->has_ttl_s && (deposit->ttl_s == 0 || deposit->ttl_s > limits->ttl_max_s)) {
        char asked[SETTINGS_NUMBER_BYTES];
        char most[SETTINGS_NUMBER_BYTES];
        settings_print_number(SETTINGS_TYPE_DURATION, deposit->ttl_s, asked);
        settings_print_number(SETTINGS_TYPE_DURATION, limits->ttl_max_s, most);
        ask_refuse(ask, HEARSAY_CODE_INVALID, "ttl_s", "the ttl is %s; it must be 1s to %s", asked,
                   most);
        return false;
    }
    return true;
}

/* Whether readers show the payload as text: text/plain, with parameters or without. */
static bool is_text(const struct hearsay_deposit *deposit)
{
    static const char plain[] = "text/plain";
    size_t length = sizeof(plain) - 1;
    const struct hearsay_text *type = &deposit->media_type;

    return type->length >= length && memcmp(type->text, plain, length) == 0 &&
           (type->length == length || type->text[length] == ';' || type->text[length] == ' ');
}

/*
 * A text needs a character that can be seen, because otherwise one device fills the page with empty
 * cards, in which nobody finds anything to report. All new messages come through here: of the page
 * for phones, of `deposit` and of `import`. Two kinds are not looked at. A message without payload
 * has no text, and the page says so. A message that a bridge copies (handler/bridge/) was taken by
 * the hearsayd that owns it, and a copy that lacks it would differ from its owner for good; the
 * page shows such a text as it shows a message without text.
 */
static bool check_text(const struct ask *ask)
{
    const struct hearsay_deposit *deposit = &ask->request->deposit;

    if (deposit->payload.count == 0 || !is_text(deposit) ||
        character_any_seen((const char *)deposit->payload.data, deposit->payload.count)) {
        return true;
    }
    ask_refuse(ask, HEARSAY_CODE_INVALID, "payload",
               "nothing can be seen of this text: it has only spaces, combining marks or invisible "
               "characters; a text needs at least one character that can be seen");
    return false;
}

static bool check_form(const struct ask *ask)
{
    const struct hearsay_deposit *deposit = &ask->request->deposit;
    const struct hearsay_limits *limits = &ask->service->config.limits;
    uint64_t filter[PROFILE_WORDS_MAX];
    bool is_answer = deposit->answers.data != NULL; /* nobody finds it by its filter */

    return check_epoch(ask) && ask_filter(ask, &deposit->filter, "filter", filter) &&
           ask_fill(ask, filter, "filter", is_answer ? 0 : limits->deposit_fill_min_ppm,
                    limits->deposit_fill_max_ppm) &&
           check_sizes(ask) && check_text(ask);
}

const char handler_no_parent_text[] =
    "there is no message with this id at this host; it may have expired or gone, or be another "
    "host's";

/* Whether a client has left all answers to a message that one sender may. */
static bool has_answered_enough(const struct ask *ask, const uint8_t *parent)
{
    const struct hearsay_limits *limits = &ask->service->config.limits;
    uint64_t most = (uint64_t)limits->k_max * limits->sender_share_ppm / DISTANCE_ONE_PPM;
    uint32_t sender = ask->client->sender_tag;

    return sender != 0 &&
           answers_count_of(&ask->host->answers, parent, sender) >= (most > 0 ? most : 1);
}

static void refuse_answers(const struct ask *ask)
{
    ask_refuse(ask, HEARSAY_CODE_QUOTA, "answers",
               "this message has %" PRIu32 " answers, and there may be no more",
               ask->service->config.limits.k_max);
}

/*
 * Checks the message that a deposit answers. If it has as many answers as it may have, sets
 * *out_first to the answer that goes for this one, unless nothing may go for new messages: then
 * few senders could keep all others from answering it.
 */
static bool check_parent(const struct ask *ask, int64_t now_ms, struct answer **out_first)
{
    const struct hearsay_deposit *deposit = &ask->request->deposit;
    const struct answers *answers = &ask->host->answers;
    const uint8_t *id = deposit->answers.data;
    uint32_t most = ask->service->config.limits.k_max; /* so one query can read all of them */
    struct epoch *epoch = NULL;
    struct index_item item;

    *out_first = NULL;
    if (id == NULL) {
        return true;
    }
    if (host_find(ask->host, id, &epoch, &item, NULL) != 0 ||
        message_expired(item.expires_ms, now_ms)) {
        ask_refuse(ask, HEARSAY_CODE_NOT_FOUND, "answers", "%s", handler_no_parent_text);
        return false;
    }
    if (answers_find(answers, id) != NULL) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "answers",
                   "the message with this id is an answer; answer the message that it answers");
    } else if (epoch->number != deposit->epoch) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "epoch",
                   "an answer has the epoch of the message that it answers, which is %" PRIu64,
                   epoch->number);
    } else if (has_answered_enough(ask, id)) {
        ask_refuse(ask, HEARSAY_CODE_QUOTA, "answers",
                   "this address has left as many answers to this message as one address may");
    } else if (answers_count(answers, id, now_ms) >= most &&
               (ask->host->config.evict == CONFIG_EVICT_REJECT ||
                (*out_first = answers_pick(answers, id, now_ms)) == NULL)) {
        refuse_answers(ask);
    } else {
        return true;
    }
    return false;
}

/* Checks the accept mode, and sets out->state, the first state of the message. */
static bool check_mode(const struct ask *ask, struct admission *out)
{
    const char *source = NULL;
    int64_t until_ms = 0;
    enum accept mode = accept_mode_now(ask->host, out->now_ms, &source, &until_ms);

    out->state = mode == ACCEPT_REVIEW ? PERSIST_PENDING : PERSIST_SHOWN;
    if (mode != ACCEPT_CLOSED) {
        return true;
    }
    struct hearsay_response response = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_ERROR};
    msg_error_set(&response.error, HEARSAY_CODE_FORBIDDEN, NULL,
                  "host \"%s\" does not accept messages at the moment; queries still work",
                  ask->host->config.name);
    response.error.retry_after_ms = until_ms > out->now_ms ? (uint64_t)(until_ms - out->now_ms) : 0;
    ask_respond(ask, &response);
    return false;
}

static bool check_bans(const struct ask *ask)
{
    const struct hearsay_deposit *deposit = &ask->request->deposit;
    const struct ban *ban =
        rules_find_ban(&ask->host->rules, deposit->filter.data, deposit->filter.count,
                       deposit->payload.data, deposit->payload.count);

    if (ban == NULL) {
        return true;
    }
    bool is_payload = ban->kind == PERSIST_BAN_PAYLOAD;
    ask_refuse(ask, HEARSAY_CODE_FORBIDDEN, is_payload ? "payload" : "filter",
               "the operator of host \"%s\" has banned this %s", ask->host->config.name,
               is_payload ? "text" : "context");
    return false;
}

/* An answer that waits for review removes no other one. `first`: see struct room_wish. */
static bool check_answers(const struct ask *ask, const struct admission *out,
                          const struct answer *first)
{
    if (first != NULL && out->state >= PERSIST_HIDDEN) {
        refuse_answers(ask);
        return false;
    }
    return true;
}

/* `first`: see struct room_wish. A message that waits for review removes no other message. */
static bool check_room(const struct ask *ask, struct admission *out, struct answer *first)
{
    static const char *const whose[] = {
        [ROOM_HOST_FULL] = "this host is full",
        [ROOM_SERVER_FULL] = "this server is full",
        [ROOM_ADDRESS_FULL] = "this address has left here as much as one address may",
        [ROOM_WIDE_FULL] = "the devices of this network have left here as much as they may",
    };
    struct room_wish wish = {
        .service = ask->service,
        .host = ask->host,
        .sender = {ask->client->sender_tag, ask->client->wide_tag},
        .bytes = admission_content_bytes(&ask->request->deposit),
        .may_evict = ask->host->config.evict != CONFIG_EVICT_REJECT && out->state < PERSIST_HIDDEN,
        .first = first,
    };

    if (room_find(&wish, &out->room)) {
        return true;
    }
    bool is_share = out->room.why == ROOM_ADDRESS_FULL || out->room.why == ROOM_WIDE_FULL;
    struct hearsay_response response = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_ERROR};
    msg_error_set(&response.error, HEARSAY_CODE_QUOTA, NULL,
                  "%s (its limit of %s is reached); there is room again when %smessages expire",
                  whose[out->room.why], out->room.cap, is_share ? "its " : "");
    response.error.retry_after_ms = room_next_ms(&wish, &out->room);
    ask_respond(ask, &response);
    return false;
}

size_t admission_content_bytes(const struct hearsay_deposit *deposit)
{
    return deposit->filter.count + deposit->media_type.length + deposit->payload.count;
}

bool admission_decide(const struct ask *ask, struct admission *out_admission)
{
    struct answer *first = NULL;

    if (!check_form(ask)) {
        return false;
    }
    out_admission->now_ms = service_now_ms(ask->service);
    out_admission->state = PERSIST_SHOWN;
    out_admission->room.own_count = 0;
    out_admission->room.own = out_admission->room.need = (struct usage){.messages = 0};
    /* An expired message of this id does not count, because the store replaces it. */
    out_admission->is_known =
        host_has(ask->host, ask->request->deposit.id.data, out_admission->now_ms);
    return out_admission->is_known ||
           (check_parent(ask, out_admission->now_ms, &first) && check_mode(ask, out_admission) &&
            check_bans(ask) && check_answers(ask, out_admission, first) &&
            check_room(ask, out_admission, first));
}
