/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/phones.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"
#include "tests/bench/web_client.h"

enum {
    REQUEST_BYTES = 2048,
    EVENT_ID_BYTES = 40,
    FIELDS_BYTES = 512,
    TEXT_MARK_BYTES = 24,
    PATIENCE_S = 60,
    LAST_ANSWERS_S = 10,
    RETRY_MS = 5000, /* what hearsay-web tells browsers */
    RETRY_SPREAD_MS = 1000
};

enum phone_step { PHONE_IDLE, PHONE_PAGE, PHONE_FORM, PHONE_LEAVE };

struct phone {
    uint32_t address;
    uint32_t place;
    enum phone_step step;
    bool has_page;                 /* it has opened the page once */
    bool streams;                  /* its stream has begun */
    int64_t due_ns;                /* of the request under way */
    int64_t page_ns;               /* it asks for no page before: it was told to wait */
    int64_t retry_ns;              /* when its stream is opened again; 0: not planned */
    char event_id[EVENT_ID_BYTES]; /* of the last event */
};

/* Things that are due again and again. */
struct schedule {
    double per_second;
    int64_t next_ns;
};

struct phones {
    const struct phones_plan *plan;
    struct web_client *client;
    struct phone *all;
    struct schedule pages, deposits, roams;
    struct phones_result *result;
    char name[PHONES_NAME_BYTES];
    uint64_t random;
    size_t turn;   /* the phone that is asked next */
    size_t opened; /* phones that have the page, or have asked for it */
    size_t with_page;
    size_t with_stream;
};

/* Each phone has two connections: one for pages and forms, one for its stream. */
static size_t page_of(size_t phone)
{
    return 2 * phone;
}

static size_t stream_of(size_t phone)
{
    return 2 * phone + 1;
}

/* --- requests --------------------------------------------------------------------------------- */

static void send_text(struct phones *phones, size_t connection, const char *text, bool is_stream)
{
    const struct web_request request = {
        .source = phones->all[connection / 2].address,
        .text = text,
        .bytes = strlen(text),
        .is_stream = is_stream,
    };

    web_send(phones->client, connection, &request);
}

static void ask_page(struct phones *phones, size_t number, enum phone_step step, int64_t due_ns)
{
    struct phone *phone = &phones->all[number];
    char text[REQUEST_BYTES];

    phone->step = step;
    phone->due_ns = due_ns;
    (void)snprintf(text, sizeof(text),
                   "GET / HTTP/1.1\r\nHost: %s\r\nAccept-Language: en\r\n%s\r\n", phones->name,
                   phones->plan->closes_pages ? "Connection: close\r\n" : "");
    send_text(phones, page_of(number), text, false);
}

static void open_stream(struct phones *phones, size_t number)
{
    struct phone *phone = &phones->all[number];
    char text[REQUEST_BYTES];
    int used = snprintf(text, sizeof(text), "GET /events HTTP/1.1\r\nHost: %s\r\n", phones->name);

    phone->retry_ns = 0;
    if (phone->event_id[0] != '\0') {
        used += snprintf(text + used, sizeof(text) - (size_t)used, "Last-Event-ID: %s\r\n",
                         phone->event_id);
        phones->result->resumed++;
    }
    (void)snprintf(text + used, sizeof(text) - (size_t)used, "\r\n");
    send_text(phones, stream_of(number), text, true);
}

/*
 * Copies the hidden fields of the form that leaves a message, as a body of a form. False: the page
 * has no such form.
 */
static bool read_fields(const char *page, char out[FIELDS_BYTES])
{
    static const char hidden[] = "<input type=\"hidden\" name=\"";
    const char *form = strstr(page, "action=\"/leave\"");
    const char *end = form == NULL ? NULL : strstr(form, "</form>");
    size_t used = 0;

    while (form != NULL && (form = strstr(form, hidden)) != NULL && form < end) {
        char name[16];
        char value[96] = "";
        if (sscanf(form + sizeof(hidden) - 1, "%15[^\"]\" value=\"%95[^\"]\"", name, value) >= 1 &&
            used + strlen(name) + strlen(value) + 3 < FIELDS_BYTES) {
            used += (size_t)snprintf(out + used, FIELDS_BYTES - used, "%s=%s&", name, value);
        }
        form += sizeof(hidden) - 1;
    }
    return used > 0;
}

/* The text of a message carries the time at which it was sent. */
static void leave(struct phones *phones, size_t number, const char *page)
{
    struct phone *phone = &phones->all[number];
    char fields[FIELDS_BYTES];
    char body[2 * FIELDS_BYTES];
    char text[REQUEST_BYTES];

    if (!read_fields(page, fields)) {
        phones->result->refused++;
        phone->step = PHONE_IDLE;
        return;
    }
    phone->step = PHONE_LEAVE;
    phone->due_ns = stats_now_ns();
    int bytes = snprintf(body, sizeof(body), "%stext=%%40%" PRId64 "%%40", fields, phone->due_ns);
    for (uint32_t i = TEXT_MARK_BYTES; i < phones->plan->text_bytes; i++) {
        body[bytes++] = i % 7 == 6 ? '+' : 'x'; /* a plus is a space in a form */
    }
    body[bytes] = '\0';
    (void)snprintf(
        text, sizeof(text),
        "POST /leave HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
        phones->name, phones->name, bytes, body);
    send_text(phones, page_of(number), text, false);
}

/* --- answers ---------------------------------------------------------------------------------- */

static uint64_t since_us(int64_t start_ns)
{
    const int64_t passed_ns = stats_now_ns() - start_ns;

    return passed_ns > 0 ? (uint64_t)passed_ns / 1000 : 0;
}

static void retry_later(struct phones *phones, struct phone *phone)
{
    phones->with_stream -= phone->streams ? 1 : 0;
    phone->streams = false;
    phone->retry_ns =
        stats_now_ns() +
        (RETRY_MS + (int64_t)(filters_random(&phones->random) % RETRY_SPREAD_MS)) * 1000000;
}

static void take_page(struct phones *phones, size_t number, const struct web_answer *answer)
{
    struct phone *phone = &phones->all[number];
    const enum phone_step step = phone->step;

    histogram_add(&phones->result->page_us, since_us(phone->due_ns));
    phones->result->pages++;
    phones->with_page += phone->has_page ? 0 : 1;
    phone->has_page = true;
    phone->step = PHONE_IDLE;
    if (step == PHONE_FORM) {
        leave(phones, number, answer->body);
    } else if (phones->plan->has_streams && !web_is_busy(phones->client, stream_of(number)) &&
               phone->retry_ns == 0) {
        open_stream(phones, number);
    }
}

/* The page after a message was left has a form to withdraw it, with its id. */
static void note_acknowledged(const struct phones *phones, const char *page)
{
    static const char field[] = "name=\"id\" value=\"";
    const char *form = strstr(page, "action=\"/withdraw\"");
    const char *id = form == NULL ? NULL : strstr(form, field);

    if (id != NULL && phones->plan->acknowledged != NULL) {
        id += sizeof(field) - 1;
        fprintf(phones->plan->acknowledged, "%.*s\n", (int)strcspn(id, "\""), id);
        (void)fflush(phones->plan->acknowledged);
    }
}

static void take_left(struct phones *phones, struct phone *phone, const char *page)
{
    histogram_add(&phones->result->leave_us, since_us(phone->due_ns));
    phones->result->left++;
    phone->step = PHONE_IDLE;
    note_acknowledged(phones, page);
}

static void on_answer(void *context, size_t connection, const struct web_answer *answer)
{
    struct phones *phones = context;
    const size_t number = connection / 2;
    struct phone *phone = &phones->all[number];

    phones->result->lost += answer->status == 0 ? 1 : 0;
    phones->result->refused += answer->status != 0 && answer->status != 200 ? 1 : 0;
    if (connection == stream_of(number)) {
        if (!answer->has_ended) {
            web_close(phones->client, connection);
        }
        retry_later(phones, phone);
    } else if (answer->status != 200) {
        phone->step = PHONE_IDLE;
        phone->page_ns = stats_now_ns() + (int64_t)answer->retry_after_s * 1000000000;
        phones->opened -= phone->has_page ? 0 : 1; /* it is asked again */
    } else if (phone->step == PHONE_LEAVE) {
        take_left(phones, phone, answer->body);
    } else {
        take_page(phones, number, answer);
    }
}

static void on_line(void *context, size_t connection, const char *line)
{
    struct phones *phones = context;
    struct phone *phone = &phones->all[connection / 2];

    if (!phone->streams) {
        phone->streams = true;
        phones->with_stream++;
    }
    if (strncmp(line, "id: ", 4) == 0) {
        (void)snprintf(phone->event_id, sizeof(phone->event_id), "%.*s", EVENT_ID_BYTES - 1,
                       line + 4);
    } else if (strncmp(line, "event: gone", 11) == 0) {
        phones->result->gone++;
    } else if (strncmp(line, "data: ", 6) == 0) {
        const char *mark = strchr(line, '@');
        if (mark != NULL) {
            histogram_add(&phones->result->shown_us, since_us(strtoll(mark + 1, NULL, 10)));
            phones->result->shown++;
        }
    }
}

/* --- the plan --------------------------------------------------------------------------------- */

static void place_phone(struct phones *phones, size_t number, uint32_t place)
{
    phones->all[number].place = place;
    phones->all[number].address =
        (uint32_t)(0x7f000000 | (place + 1) << 16 | (number / 250) << 8 | (number % 250 + 1));
}

/* The next phone that has the page, has nothing under way and need not wait; SIZE_MAX: none. */
static size_t next_phone(struct phones *phones, int64_t now_ns)
{
    for (size_t tried = 0; tried < phones->plan->phones; tried++) {
        const size_t number = phones->turn++ % phones->plan->phones;
        if (phones->all[number].has_page && phones->all[number].step == PHONE_IDLE &&
            phones->all[number].page_ns <= now_ns) {
            return number;
        }
    }
    return SIZE_MAX;
}

/* Goes to another place: new address, new connections; the page stays open. */
static void roam(struct phones *phones, size_t number)
{
    struct phone *phone = &phones->all[number];
    const uint32_t places = phones->plan->places;
    const uint32_t step = 1 + (uint32_t)(filters_random(&phones->random) % (places - 1));

    web_close(phones->client, page_of(number));
    web_close(phones->client, stream_of(number));
    phones->with_stream -= phone->streams ? 1 : 0;
    phone->streams = false;
    place_phone(phones, number, (phone->place + step) % places);
    phones->result->roamed++;
    if (phones->plan->has_streams) {
        open_stream(phones, number);
    }
}

/* True: one is due. Its moment is in out_due_ns; the next interval is exponential. */
static bool is_due(struct phones *phones, struct schedule *schedule, int64_t now_ns,
                   int64_t *out_due_ns)
{
    if (schedule->per_second <= 0 || now_ns < schedule->next_ns) {
        return false;
    }
    *out_due_ns = schedule->next_ns;
    const double share = ((double)(filters_random(&phones->random) >> 11) + 1) / 9007199254740993.0;
    schedule->next_ns += (int64_t)(-log(share) / schedule->per_second * 1e9);
    return true;
}

static void act_due(struct phones *phones, int64_t now_ns)
{
    int64_t due_ns;
    size_t number;

    while (is_due(phones, &phones->pages, now_ns, &due_ns) &&
           (number = next_phone(phones, now_ns)) != SIZE_MAX) {
        ask_page(phones, number, PHONE_PAGE, due_ns);
    }
    while (is_due(phones, &phones->deposits, now_ns, &due_ns) &&
           (number = next_phone(phones, now_ns)) != SIZE_MAX) {
        ask_page(phones, number, PHONE_FORM, due_ns);
    }
    while (is_due(phones, &phones->roams, now_ns, &due_ns) &&
           (number = next_phone(phones, now_ns)) != SIZE_MAX) {
        roam(phones, number);
    }
    for (size_t i = 0; i < phones->plan->phones; i++) {
        struct phone *phone = &phones->all[i];
        if (phone->retry_ns != 0 && now_ns >= phone->retry_ns) {
            open_stream(phones, i);
        }
    }
}

static int64_t earliest(const struct phones *phones, int64_t most_ns)
{
    const struct schedule *all[] = {&phones->pages, &phones->deposits, &phones->roams};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i]->per_second > 0 && all[i]->next_ns < most_ns) {
            most_ns = all[i]->next_ns;
        }
    }
    return most_ns;
}

static bool is_waiting(const struct phones *phones)
{
    for (size_t i = 0; i < phones->plan->phones; i++) {
        if (phones->all[i].step != PHONE_IDLE) {
            return true;
        }
    }
    return false;
}

void phones_run(struct phones *phones, double seconds, struct phones_result *result)
{
    enum { LOOK_NS = 10000000 }; /* how late a stream may be opened again */
    const int64_t start_ns = stats_now_ns();
    const int64_t end_ns = start_ns + (int64_t)(seconds * 1e9);
    const int64_t last_ns = end_ns + (int64_t)LAST_ANSWERS_S * 1000000000;
    int64_t now_ns = start_ns;

    phones->result = result;
    phones->pages = (struct schedule){phones->plan->pages_per_second, start_ns};
    phones->deposits = (struct schedule){phones->plan->deposits_per_second, start_ns};
    phones->roams = (struct schedule){phones->plan->roams_per_minute / 60, start_ns};
    while (now_ns < end_ns || (is_waiting(phones) && now_ns < last_ns)) {
        if (now_ns < end_ns) {
            act_due(phones, now_ns);
        }
        web_wait(phones->client, earliest(phones, now_ns + LOOK_NS));
        now_ns = stats_now_ns();
    }
}

/* --- all at once ------------------------------------------------------------------------------ */

static bool all_there(const struct phones *phones)
{
    return phones->with_page == phones->plan->phones &&
           (!phones->plan->has_streams || phones->with_stream == phones->plan->phones);
}

/* Waits until all phones have what they asked for. Returns 0 or -1. */
static int wait_all(struct phones *phones, int64_t start_ns)
{
    const struct phones_plan *plan = phones->plan;

    while (!all_there(phones)) {
        const int64_t now_ns = stats_now_ns();
        const double passed_s = (double)(now_ns - start_ns) / 1e9;
        if (passed_s > PATIENCE_S) {
            return bench_fail("of %" PRIu32 " phones, %zu have the page and %zu its stream after "
                              "a minute; %" PRIu64 " refused, %" PRIu64 " lost",
                              plan->phones, phones->with_page, phones->with_stream,
                              phones->result->refused, phones->result->lost);
        }
        const double allowed =
            plan->opened_per_second == 0 ? plan->phones : passed_s * plan->opened_per_second;
        for (size_t i = 0; i < plan->phones && (double)phones->opened < allowed; i++) {
            if (!phones->all[i].has_page && phones->all[i].step == PHONE_IDLE &&
                phones->all[i].page_ns <= now_ns) {
                phones->opened++;
                ask_page(phones, i, PHONE_PAGE, now_ns);
            }
        }
        act_due(phones, now_ns);
        web_wait(phones->client, now_ns + 1000000);
    }
    return 0;
}

int phones_open(struct phones *phones, struct phones_result *result)
{
    phones->result = result;
    phones->pages = phones->deposits = phones->roams = (struct schedule){0};
    return wait_all(phones, stats_now_ns());
}

double phones_come_back(struct phones *phones, uint64_t spread, struct phones_result *result)
{
    const int64_t start_ns = stats_now_ns();

    phones->result = result;
    phones->pages = phones->deposits = phones->roams = (struct schedule){0};
    for (size_t i = 0; i < phones->plan->phones; i++) {
        struct phone *phone = &phones->all[i];
        const char *dash = strchr(phone->event_id, '-');
        if (dash != NULL) {
            const uint64_t seq = strtoull(dash + 1, NULL, 10);
            const uint64_t back = i * spread / phones->plan->phones;
            (void)snprintf(phone->event_id + (dash - phone->event_id), 24, "-%" PRIu64,
                           seq > back ? seq - back : 0);
        }
        web_close(phones->client, page_of(i));
        web_close(phones->client, stream_of(i));
        phones->with_stream -= phone->streams ? 1 : 0;
        phone->streams = false;
        open_stream(phones, i);
    }
    return wait_all(phones, start_ns) == 0 ? (double)(stats_now_ns() - start_ns) / 1e9 : -1;
}

void phones_use_port(struct phones *phones, uint16_t port, const char *name)
{
    (void)snprintf(phones->name, sizeof(phones->name), "%s", name);
    web_client_use_port(phones->client, port);
}

/* --- begin and end ---------------------------------------------------------------------------- */

struct phones *phones_new(const struct phones_plan *plan)
{
    static const struct web_events events = {on_answer, on_line};
    struct phones *phones = calloc(1, sizeof(*phones));

    if (phones == NULL || (phones->all = calloc(plan->phones, sizeof(*phones->all))) == NULL) {
        free(phones);
        (void)bench_fail("memory is short");
        return NULL;
    }
    phones->plan = plan;
    (void)snprintf(phones->name, sizeof(phones->name), "%s", plan->name);
    phones->random = plan->seed;
    phones->client = web_client_new(plan->port, 2 * (size_t)plan->phones, &events, phones);
    if (phones->client == NULL) {
        phones_free(phones);
        return NULL;
    }
    for (size_t i = 0; i < plan->phones; i++) {
        place_phone(phones, i, (uint32_t)(i % plan->places));
    }
    return phones;
}

void phones_free(struct phones *phones)
{
    if (phones != NULL) {
        web_client_free(phones->client);
        free(phones->all);
        free(phones);
    }
}
