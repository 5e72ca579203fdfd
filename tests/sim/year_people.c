/* SPDX-License-Identifier: Apache-2.0 */
/* year_people: see year.h. Everything about a message follows from its number. */
#include "tests/lib/plain_request.h"
#include "tests/sim/year.h"

#include <inttypes.h>

#include <sodium.h>

enum {
    MESSAGES_MAX = 100000,
    PLANS_MAX = 4096,
    FILTER_BYTES = 64,
    FILTER_BITS = 8 * FILTER_BYTES,
    LABELS = 10,
    PLACES = 40, /* different contexts, more or less */
    SENDERS = 500,
    PAYLOAD_MAX = 420,
    HIDE_AFTER = 3
};

enum fate { NOTHING, UNSURE, THERE, HIDDEN, GONE };

struct note {
    int64_t must_ms;    /* until then it must be there, by the true time */
    int64_t gone_ms;    /* from then on it must not, by the daemon's clock, if that does not stop */
    int64_t stopped_ms; /* how long that clock had stood still before */
    uint32_t seen;      /* at which audit */
    uint8_t fate;
    uint8_t host;
};

enum deed { WITHDRAW, REPORT, REPEAT, REMOVE };

/* What somebody will do to a message. */
struct plan {
    int64_t ms;
    uint32_t number;
    enum deed deed;
};

static struct {
    struct rng *rng;
    struct note notes[MESSAGES_MAX];
    uint32_t next;   /* number of the next message */
    uint32_t oldest; /* messages before it are gone */
    struct plan plans[PLANS_MAX];
    size_t plan_count;
    uint32_t audit;
    bool is_full;
    uint32_t turns[YEAR_HOSTS]; /* of lifetimes */
    struct people_figures figures;
} people;

void people_init(struct rng *rng)
{
    people.rng = rng;
    people.next = 1;
    people.oldest = 1;
}

void people_expect_full(bool is_full)
{
    people.is_full = is_full;
}

const struct people_figures *people_figures(void)
{
    return &people.figures;
}

/* --- contents --------------------------------------------------------------------------------- */

static struct hearsay_text host_text(unsigned host)
{
    static const struct hearsay_text names[YEAR_HOSTS] = {
        [STREET] = {"street", 6}, [NIGHT] = {"night", 5}};
    return names[host];
}

static void make_id(uint32_t number, uint8_t *out)
{
    struct rng rng = {number};
    const uint64_t random = rng_next(&rng);

    memset(out, 0, LIMIT_ID_BYTES);
    memcpy(out, &random, sizeof(random));
    memcpy(out + LIMIT_ID_BYTES - sizeof(number), &number, sizeof(number));
}

/* 0: nobody has made this id. */
static uint32_t number_of(const struct hearsay_bytes *id)
{
    uint8_t expected[LIMIT_ID_BYTES];
    uint32_t number;

    memcpy(&number, id->data + LIMIT_ID_BYTES - sizeof(number), sizeof(number));
    make_id(number, expected);
    return memcmp(expected, id->data, LIMIT_ID_BYTES) == 0 && number < people.next ? number : 0;
}

static void make_filter(uint32_t place, uint32_t number, uint8_t *out)
{
    struct rng where = {place};
    struct rng own = {number};

    memset(out, 0, FILTER_BYTES);
    for (unsigned i = 0; i < 4 * LABELS; i++) {
        const uint32_t bit = rng_below(i % 4 == 0 ? &own : &where, FILTER_BITS);
        out[bit / 8] |= (uint8_t)(1U << bit % 8);
    }
}

/* How many bytes: the sizes of messages that follow each other are spread evenly. */
static size_t make_payload(uint32_t number, uint8_t *out)
{
    struct rng rng = {~(uint64_t)number};
    const size_t count = 20 + number * 61 % (PAYLOAD_MAX - 20);

    for (size_t i = 0; i < count; i++) {
        out[i] = (uint8_t)('a' + rng_below(&rng, 26));
    }
    return count;
}

static void make_token(uint32_t number, uint8_t *out)
{
    memset(out, 0x55, LIMIT_TOKEN_BYTES);
    memcpy(out, &number, sizeof(number));
}

/* --- leaving messages ------------------------------------------------------------------------- */

/*
 * Most messages live for hours, some for weeks. The lifetimes take turns, so that about as many
 * messages are stored in each month.
 */
static uint32_t choose_lifetime_s(unsigned host)
{
    static const uint32_t hours[] = {1, 3, 6, 12, 24, 24, 48, 72, 7 * 24, 30 * 24};
    const unsigned choices = host == NIGHT ? 7 : 10; /* an epoch is kept for a week */

    return 3600 * hours[people.turns[host]++ % choices];
}

static void plan(uint32_t number, enum deed deed, int64_t within_ms)
{
    SIM_CHECK(people.plan_count < PLANS_MAX);
    const int64_t in_ms = MINUTE_MS + (int64_t)(rng_next(people.rng) % (uint64_t)within_ms);
    people.plans[people.plan_count++] =
        (struct plan){.ms = machine_now_ms() + in_ms, .number = number, .deed = deed};
}

static void make_plans(uint32_t number, int64_t lifetime_ms)
{
    const uint32_t dice = rng_below(people.rng, 100);

    if (dice < 6) {
        plan(number, WITHDRAW, lifetime_ms);
    } else if (dice < 8) {
        plan(number, REMOVE, lifetime_ms);
    } else if (dice < 12) {
        for (unsigned i = 1 + rng_below(people.rng, 5); i > 0; i--) {
            plan(number, REPORT, lifetime_ms);
        }
    } else if (dice < 15) {
        plan(number, REPEAT, lifetime_ms);
    }
}

static struct year_answer send_deposit(uint32_t number, uint32_t lifetime_s)
{
    const struct host *host = &machine_service()->hosts[people.notes[number].host];
    uint8_t id[LIMIT_ID_BYTES];
    uint8_t filter[FILTER_BYTES];
    uint8_t payload[PAYLOAD_MAX];
    uint8_t token[LIMIT_TOKEN_BYTES];
    uint8_t hash[LIMIT_HASH_BYTES];
    struct rng rng = {number};
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_DEPOSIT, .name = "deposit"};

    make_id(number, id);
    make_filter(rng_below(&rng, PLACES), number, filter);
    make_token(number, token);
    (void)crypto_generichash(hash, sizeof(hash), token, sizeof(token), NULL, 0);
    request.deposit = plain_deposit(id, filter, sizeof(filter), "");
    request.deposit.host = host_text(people.notes[number].host);
    request.deposit.epoch = host->current != NULL ? host->current->number : 0;
    request.deposit.payload = (struct hearsay_bytes){payload, make_payload(number, payload)};
    request.deposit.has_ttl_s = true;
    request.deposit.ttl_s = lifetime_s;
    request.deposit.withdraw_hash = (struct hearsay_bytes){hash, sizeof(hash)};
    return machine_ask(1 + rng_below(&rng, SENDERS), &request);
}

static void check_closed(unsigned host, const struct year_answer *answer, int64_t now_ms)
{
    SIM_EQUAL(answer->kind, HEARSAY_RESPONSE_ERROR);
    SIM_EQUAL(answer->error.code, HEARSAY_CODE_FORBIDDEN);
    SIM_EQUAL(answer->error.retry_after_ms, hours_end(host, now_ms) - now_ms);
    people.figures.closed++;
}

/* A failure of the storage, which only a full one may have. */
static void check_full(const struct year_answer *answer)
{
    SIM_EXPECT(people.is_full, "there is storage, and the answer is: %s", answer->error.message);
    SIM_EQUAL(answer->error.code, HEARSAY_CODE_STORAGE);
    SIM_CHECK(answer->error.retry_after_ms > 0);
    people.figures.full++;
}

static struct note *new_note(unsigned host, uint32_t lifetime_s, int64_t now_ms)
{
    SIM_CHECK(people.next < MESSAGES_MAX);
    struct note *note = &people.notes[people.next++];
    const int64_t lifetime_ms = lifetime_s * SECOND_MS;
    const int64_t behind_ms = machine_now_ms() - now_ms; /* the daemon's clock */

    /* A step of the clock by less than a minute moves no message. */
    *note =
        (struct note){.must_ms = machine_now_ms() + lifetime_ms - (behind_ms > 0 ? MINUTE_MS : 0),
                      .gone_ms = now_ms + lifetime_ms + (behind_ms > 0 ? behind_ms : 0),
                      .stopped_ms = machine_stopped_ms(),
                      .host = (uint8_t)host};
    return note;
}

void people_deposit(unsigned host)
{
    const int64_t now_ms = service_now_ms(machine_service());
    const uint32_t lifetime_s = choose_lifetime_s(host);
    const uint32_t number = people.next;
    struct note *note = new_note(host, lifetime_s, now_ms);
    const struct year_answer answer = send_deposit(number, lifetime_s);

    people.figures.asked++;
    if (hours_closed(host, now_ms)) {
        check_closed(host, &answer, now_ms);
    } else if (answer.kind == HEARSAY_RESPONSE_DEPOSITED) {
        people.figures.deposited++;
        note->fate = THERE;
        SIM_EQUAL(answer.expires_ms, now_ms + lifetime_s * SECOND_MS);
        make_plans(number, lifetime_s * SECOND_MS);
    } else {
        check_full(&answer);
    }
}

void people_deposit_at_the_cut(void)
{
    const uint32_t number = people.next;
    const int64_t now_ms = service_now_ms(machine_service());
    struct note *note = new_note(STREET, 3600, now_ms);

    (void)send_deposit(number, 3600);
    note->fate = hours_closed(STREET, now_ms) ? NOTHING : UNSURE;
}

/* --- what people do to messages --------------------------------------------------------------- */

/* Whether an answer says that the message is not there any more, and whether that may be. */
static bool is_gone(const struct year_answer *answer, const struct note *note)
{
    if (answer->kind != HEARSAY_RESPONSE_ERROR || answer->error.code != HEARSAY_CODE_NOT_FOUND) {
        return false;
    }
    SIM_CHECK(note->fate != THERE || machine_now_ms() >= note->must_ms);
    return true;
}

static void withdraw(uint32_t number, struct note *note)
{
    uint8_t id[LIMIT_ID_BYTES];
    uint8_t token[LIMIT_TOKEN_BYTES];
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_WITHDRAW, .name = "withdraw"};

    make_id(number, id);
    make_token(number, token);
    request.withdraw = (struct hearsay_withdraw){
        .host = host_text(note->host), .id = {id, sizeof(id)}, .token = {token, sizeof(token)}};
    const struct year_answer answer = machine_ask(1 + number % SENDERS, &request);
    if (answer.kind == HEARSAY_RESPONSE_WITHDRAWN) {
        note->fate = GONE;
        people.figures.withdrawn++;
    } else if (!is_gone(&answer, note)) {
        check_full(&answer);
        plan(number, WITHDRAW, HOUR_MS); /* tries again */
    }
}

static void remove_message(uint32_t number, struct note *note)
{
    uint8_t id[LIMIT_ID_BYTES];
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_REMOVE, .name = "remove"};

    make_id(number, id);
    request.remove = (struct hearsay_remove){.host = host_text(note->host), .id = {id, sizeof(id)}};
    const struct year_answer answer = machine_ask(0, &request);
    if (answer.kind == HEARSAY_RESPONSE_REMOVED) {
        note->fate = GONE;
        people.figures.removed++;
    } else if (!is_gone(&answer, note)) {
        check_full(&answer);
    }
}

static bool is_hidden(uint32_t number, const struct note *note)
{
    uint8_t id[LIMIT_ID_BYTES];
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_GET, .name = "get"};

    make_id(number, id);
    request.get = (struct hearsay_get){.host = host_text(note->host), .id = {id, sizeof(id)}};
    return machine_ask(1, &request).kind != HEARSAY_RESPONSE_GOT;
}

static void report(uint32_t number, struct note *note)
{
    static const char reason[] = "it is an advertisement for something, and not about this place";
    uint8_t id[LIMIT_ID_BYTES];
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_REPORT, .name = "report"};

    make_id(number, id);
    request.report = (struct hearsay_report){.host = host_text(note->host),
                                             .id = {id, sizeof(id)},
                                             .reason = {reason, sizeof(reason) - 1},
                                             .kind = HEARSAY_REPORT_SPAM};
    const struct year_answer answer =
        machine_ask(1 + rng_below(people.rng, 20 * SENDERS), &request);
    if (answer.kind != HEARSAY_RESPONSE_REPORT_TAKEN) {
        if (!is_gone(&answer, note)) {
            check_full(&answer);
        }
    } else if (note->fate == THERE && is_hidden(number, note)) {
        note->fate = HIDDEN;
        people.figures.hidden++;
    }
}

/* Somebody sends a message again, who has not got the answer. */
static void repeat(uint32_t number, struct note *note)
{
    if (note->fate != THERE || machine_now_ms() >= note->must_ms || note->host != STREET) {
        return; /* it might be a new one */
    }
    const struct year_answer answer = send_deposit(number, 3600);
    if (answer.kind == HEARSAY_RESPONSE_DEPOSITED) {
        people.figures.repeated++;
    } else {
        check_full(&answer);
    }
}

static void carry_out(const struct plan *plan)
{
    struct note *note = &people.notes[plan->number];

    if (note->fate != THERE && note->fate != HIDDEN) {
        return;
    }
    switch (plan->deed) {
    case WITHDRAW:
        withdraw(plan->number, note);
        break;
    case REPORT:
        report(plan->number, note);
        break;
    case REPEAT:
        repeat(plan->number, note);
        break;
    case REMOVE:
        remove_message(plan->number, note);
        break;
    }
}

void people_act(void)
{
    for (size_t i = 0; i < people.plan_count;) {
        if (people.plans[i].ms > machine_now_ms()) {
            i++;
            continue;
        }
        const struct plan due = people.plans[i];
        people.plans[i] = people.plans[--people.plan_count];
        carry_out(&due);
    }
}

/* --- asking ----------------------------------------------------------------------------------- */

static void check_shown(const struct hearsay_bytes *id, const struct hearsay_bytes *payload)
{
    const uint32_t number = number_of(id);
    uint8_t expected[PAYLOAD_MAX];

    SIM_CHECK(number != 0);
    const struct note *note = &people.notes[number];
    SIM_EXPECT(note->fate == THERE || note->fate == UNSURE,
               "message %" PRIu32 " is shown; its fate is %d", number, note->fate);
    /* What came while nobody knew the time moves with the clock, by the time without power, too. */
    SIM_CHECK(service_now_ms(machine_service()) <
              note->gone_ms + machine_stopped_ms() - note->stopped_ms);
    SIM_CHECK(payload->count == make_payload(number, expected) &&
              memcmp(payload->data, expected, payload->count) == 0);
    people.figures.results++;
}

static void take_results(void *context, const struct hearsay_response *response)
{
    (void)context;
    SIM_EQUAL(response->kind, HEARSAY_RESPONSE_RESULTS);
    for (size_t i = 0; i < response->results.result_count; i++) {
        check_shown(&response->results.results[i].id, &response->results.results[i].payload);
    }
}

void people_query(void)
{
    uint8_t filter[FILTER_BYTES];
    const struct hearsay_query_part part = {.filter = {filter, sizeof(filter)}};
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_QUERY, .name = "query"};

    make_filter(rng_below(people.rng, PLACES), people.next, filter);
    request.query = plain_query(&part, 1, 20);
    request.query.host = host_text(STREET);
    request.query.with_payload = true;
    (void)machine_ask_for(&request, take_results, NULL);
}

/* --- audits ----------------------------------------------------------------------------------- */

struct page {
    uint8_t cursor[LIMIT_CURSOR_BYTES];
    size_t cursor_bytes; /* 0: there is no other page */
};

static void take_page(void *context, const struct hearsay_response *response)
{
    struct page *page = context;

    SIM_EQUAL(response->kind, HEARSAY_RESPONSE_EXPORTED);
    page->cursor_bytes = response->exported.next.count;
    if (page->cursor_bytes > 0) {
        memcpy(page->cursor, response->exported.next.data, page->cursor_bytes);
    }
    for (size_t i = 0; i < response->exported.message_count; i++) {
        const struct hearsay_exported_message *message = &response->exported.messages[i];
        if (message->expires_ms <= service_now_ms(machine_service())) {
            SIM_CHECK(people.is_full); /* the storage refuses to delete it */
            continue;
        }
        check_shown(&message->id, &message->payload);
        struct note *note = &people.notes[number_of(&message->id)];
        SIM_CHECK(note->seen != people.audit);
        note->seen = people.audit;
        people.figures.stored++;
    }
}

static void export_all(unsigned host)
{
    struct page page = {.cursor_bytes = 0};

    do {
        struct hearsay_request request = {.kind = HEARSAY_REQUEST_EXPORT, .name = "export"};
        request.export_.host = host_text(host);
        request.export_.after =
            (struct hearsay_bytes){page.cursor_bytes > 0 ? page.cursor : NULL, page.cursor_bytes};
        (void)machine_ask_for(&request, take_page, &page);
    } while (page.cursor_bytes > 0);
}

void people_audit(void)
{
    people.audit++;
    people.figures.stored = 0;
    for (unsigned host = 0; host < YEAR_HOSTS; host++) {
        export_all(host);
    }
    for (uint32_t number = people.oldest; number < people.next; number++) {
        struct note *note = &people.notes[number];
        const bool is_seen = note->seen == people.audit;
        if (note->fate == UNSURE) { /* the cut was before the commit or behind it */
            note->fate = is_seen ? THERE : NOTHING;
        }
        SIM_EXPECT(is_seen || note->fate != THERE || machine_now_ms() >= note->must_ms,
                   "message %" PRIu32 " is lost", number);
        if (machine_now_ms() >= note->must_ms + 10 * DAY_MS && number == people.oldest) {
            people.oldest++;
        }
    }
}
