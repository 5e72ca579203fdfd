/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A year of an access point with 64 MB of memory and 16 MB of flash storage, to which nobody does
 * anything: 365 days with 200 messages each. The power goes off and comes back, and then the clock
 * of the machine is in 1970, or at the time of a file, for minutes or for more than a day. The
 * local time is set forward and back. In month 3 another program takes all storage for days. All
 * the time what was acknowledged must be there, and what is over must not; hosts open and close
 * when they should; and what the daemon writes, stores and holds in memory does not grow.
 *
 * HEARSAY_SEED gives a year again. HEARSAY_YEAR_TICK: minutes between two ticks of the daemon,
 * which in truth has one each second (30). HEARSAY_YEAR_MESSAGES: a day (200). HEARSAY_YEAR_LOG:
 * print the daemon's log.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim_random.h"
#include "tests/sim/year.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MESSAGES_A_DAY = 40, MINUTES_A_TICK = 30 };
#else
enum { MESSAGES_A_DAY = 200, MINUTES_A_TICK = 30 };
#endif

enum {
    MONTHS = 12,
    MESSAGES_MAX = 250,         /* a day */
    MESSAGES_FOR_FIGURES = 200, /* with fewer a day chance would decide */
    AT_NIGHT = 20, /* of a hundred messages: to the host that is open by day and by night */
    CUTS_A_MONTH = 3,
    STOPS_A_MONTH = 2,
    EVENTS = MONTHS * (CUTS_A_MONTH + STOPS_A_MONTH) + 1,
    SECOND_MONTH = 1,
    LAST_MONTH = MONTHS - 1
};

static const int days_of[MONTHS] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

/* The other program begins on 10 March at 8:00, and is gone on 14 March at 20:00. */
#define FULL_FROM_MS (YEAR_BEGINS_MS + (31 + 28 + 9) * DAY_MS + 8 * HOUR_MS)
#define FULL_TO_MS   (YEAR_BEGINS_MS + (31 + 28 + 13) * DAY_MS + 20 * HOUR_MS)

/* --- the year --------------------------------------------------------------------------------- */

struct event {
    int64_t ms;
    bool is_cut; /* else the daemon is stopped and started again */
};

/* Somebody will leave a message. */
struct arrival {
    int64_t ms;
    unsigned host;
};

/* Figures of a month. */
struct month {
    struct people_figures people;
    uint64_t written, lines;
    int64_t used_sum, files_sum, files_most, memory_sum, memory_peak, stored_sum;
    unsigned looks, starts;
};

static struct {
    struct rng rng;
    int64_t tick_ms;
    struct event events[EVENTS];
    unsigned next_event;
    int64_t set_clock_ms, synchronise_ms;  /* INT64_MAX: nothing to do */
    struct arrival arrivals[MESSAGES_MAX]; /* of this day, in order */
    unsigned messages_a_day, next_arrival;
    bool is_full;
    unsigned acts[YEAR_HOSTS]; /* of this day: told modes */
    bool is_calm;              /* this day: no start, and the daemon knew the time */
    int64_t day_began_ms;
    struct month months[MONTHS], sums;
} year;

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a; /* the first member of both structs */
    const int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void plan_events(void)
{
    int64_t begins_ms = YEAR_BEGINS_MS;
    unsigned count = 0;

    for (unsigned m = 0; m < MONTHS; m++) {
        for (unsigned i = 0; i < CUTS_A_MONTH + STOPS_A_MONTH; i++) {
            const uint32_t minute = rng_below(&year.rng, (uint32_t)days_of[m] * 24 * 60);
            year.events[count++] = (struct event){begins_ms + minute * MINUTE_MS, i < CUTS_A_MONTH};
        }
        begins_ms += days_of[m] * DAY_MS;
    }
    /* one cut while the storage is full */
    year.events[count++] = (struct event){FULL_FROM_MS + 52 * HOUR_MS, true};
    qsort(year.events, count, sizeof(year.events[0]), compare_times);
}

static void plan_day(void)
{
    for (unsigned i = 0; i < year.messages_a_day; i++) {
        struct arrival *arrival = &year.arrivals[i];
        arrival->host = rng_chance(&year.rng, AT_NIGHT) ? NIGHT : STREET;
        do { /* mostly people know when a host is open */
            arrival->ms = machine_now_ms() + rng_below(&year.rng, 24 * 3600) * SECOND_MS;
        } while (hours_closed(arrival->host, arrival->ms));
    }
    qsort(year.arrivals, year.messages_a_day, sizeof(year.arrivals[0]), compare_times);
    year.next_arrival = 0;
}

/* --- power and clock -------------------------------------------------------------------------- */

static void switch_on(void)
{
    struct rng *rng = &year.rng;
    const uint32_t dice = rng_below(rng, 100);

    machine_start(dice < 50 ? CLOCK_1970 : dice < 80 ? CLOCK_OF_A_FILE : CLOCK_RIGHT);
    year.sums.starts++;
    year.is_calm = false;
    year.set_clock_ms = year.synchronise_ms = INT64_MAX;
    if (dice < 80) {
        const uint32_t minutes = rng_chance(rng, 50)   ? 1 + rng_below(rng, 10)
                                 : rng_chance(rng, 70) ? 60 * (1 + rng_below(rng, 20))
                                                       : 60 * (24 + rng_below(rng, 16));
        year.set_clock_ms = machine_now_ms() + minutes * MINUTE_MS;
    }
    machine_tick();
    people_audit();
}

static void power_off(void)
{
    struct rng *rng = &year.rng;
    const uint32_t minutes = rng_chance(rng, 70)   ? 1 + rng_below(rng, 30)
                             : rng_chance(rng, 70) ? 60 * (1 + rng_below(rng, 12))
                                                   : 60 * (24 + rng_below(rng, 30));

    sim_position.doing = "a power cut";
    if (rng_chance(rng, 50)) { /* in the middle of something */
        machine_doom(1 + rng_below(rng, 6));
        people_deposit_at_the_cut();
    }
    machine_cut(rng);
    machine_pass(minutes * MINUTE_MS);
    switch_on();
}

static void restart(void)
{
    sim_position.doing = "a restart";
    machine_stop();
    machine_pass(SECOND_MS);
    machine_start(CLOCK_RIGHT); /* the machine has not been off */
    year.is_calm = false;
    year.sums.starts++;
    machine_tick();
    people_audit();
}

static void set_clock(void)
{
    if (machine_now_ms() >= year.set_clock_ms) {
        year.set_clock_ms = INT64_MAX;
        machine_set_clock();
        if (rng_chance(&year.rng, 70)) { /* some programs set the clock and never say so */
            year.synchronise_ms = machine_now_ms() + 5 * MINUTE_MS;
        }
    }
    if (machine_now_ms() >= year.synchronise_ms) {
        year.synchronise_ms = INT64_MAX;
        machine_synchronise(true);
    }
}

static void change_power(void)
{
    if (year.next_event == EVENTS || machine_now_ms() < year.events[year.next_event].ms) {
        return;
    }
    const struct event *event = &year.events[year.next_event++];
    if (event->is_cut) {
        power_off();
    } else if (machine_error_ms() == 0) { /* else the machine does not know the time yet */
        restart();
    }
}

/* --- hours ------------------------------------------------------------------------------------ */

/* As the daemon tells gateways about it. */
static void tell_hours(void)
{
    const int64_t now_ms = service_now_ms(machine_service());

    for (unsigned h = 0; h < YEAR_HOSTS; h++) {
        struct host *host = &machine_service()->hosts[h];
        if (!accept_mode_changed(host, now_ms)) {
            continue;
        }
        year.acts[h]++;
        SIM_EQUAL(host->told_accept, hours_closed(h, now_ms) ? ACCEPT_CLOSED : ACCEPT_OPEN);
        SIM_EQUAL(host->told_accept_until_ms, hours_end(h, now_ms));
    }
}

/* Whether the daemon knows the time. */
static bool has_right_time(void)
{
    return service_now_ms(machine_service()) == machine_now_ms();
}

/* Nothing was told twice on the day that is over, and nothing was left out. */
static void check_acts(void)
{
    for (unsigned h = 0; h < YEAR_HOSTS; h++) {
        unsigned expected = 0;
        for (int64_t ms = hours_end(h, year.day_began_ms); ms <= machine_now_ms();
             ms = hours_end(h, ms)) {
            expected++;
        }
        SIM_EXPECT(!year.is_calm || year.acts[h] == expected, "host %u has told %u modes, not %u",
                   h, year.acts[h], expected);
        year.acts[h] = 0;
    }
    year.day_began_ms = machine_now_ms();
    year.is_calm = has_right_time();
}

/* --- a step, a day, a month ------------------------------------------------------------------- */

static void change_storage(void)
{
    const bool is_full = machine_now_ms() >= FULL_FROM_MS && machine_now_ms() < FULL_TO_MS;

    if (is_full == year.is_full) {
        return;
    }
    year.is_full = is_full;
    if (is_full) {
        people_expect_full(true);
        machine_set_storage(true);
    } else {
        machine_set_storage(false);
        machine_tick();
        people_expect_full(false);
    }
}

/* The next moment at which something happens: also a minute before a host opens or closes. */
static int64_t next_moment(bool *out_is_edge)
{
    const int64_t now_ms = machine_now_ms();
    int64_t next_ms = (now_ms / year.tick_ms + 1) * year.tick_ms;

    *out_is_edge = false;
    for (unsigned h = 0; h < YEAR_HOSTS; h++) {
        int64_t edge_ms = hours_end(h, now_ms);
        edge_ms -= edge_ms - MINUTE_MS > now_ms ? MINUTE_MS : 0;
        if (edge_ms <= next_ms) {
            next_ms = edge_ms;
            *out_is_edge = true;
        }
    }
    return next_ms;
}

static void step(void)
{
    bool is_edge = false;

    sim_position.doing = "a step";
    machine_pass(next_moment(&is_edge) - machine_now_ms());
    set_clock();
    change_storage();
    change_power();
    machine_tick();
    year.is_calm = year.is_calm && has_right_time();
    tell_hours();
    people_act();
    while (year.next_arrival < year.messages_a_day &&
           year.arrivals[year.next_arrival].ms <= machine_now_ms()) {
        people_deposit(year.arrivals[year.next_arrival++].host);
    }
    if (is_edge) {
        people_deposit(STREET);
        people_deposit(NIGHT);
    }
    if (rng_chance(&year.rng, 20)) {
        people_query();
    }
    const int64_t bytes = machine_storage_bytes();
    year.sums.files_most = bytes > year.sums.files_most ? bytes : year.sums.files_most;
    SIM_CHECK(bytes <= STORAGE_BYTES);
}

static void look(void)
{
    sim_position.doing = "a look at everything";
    machine_tick();
    people_audit();
    year.sums.memory_sum += machine_memory_bytes();
    year.sums.stored_sum += people_figures()->stored;
    year.sums.files_sum += machine_storage_bytes();
    year.sums.used_sum += machine_used_bytes();
    year.sums.looks++;
}

static void take_checked(void *context, const struct hearsay_response *response)
{
    (void)context;
    SIM_EQUAL(response->kind, HEARSAY_RESPONSE_CHECKED);
    SIM_EXPECT(response->checked.problem_count == 0, "%s", response->checked.problems[0].text);
}

/* The figures since the last call. */
static void end_month(struct month *month)
{
    struct hearsay_request check = {.kind = HEARSAY_REQUEST_CHECK, .name = "check"};
    static uint64_t written, lines;
    static struct people_figures before;

    (void)machine_ask_for(&check, take_checked, NULL);
    *month = year.sums;
    year.sums = (struct month){.starts = 0};
    month->memory_peak = machine_memory_peak();
    SIM_CHECK(month->memory_peak < MEMORY_BYTES);
    month->written = machine_written() - written;
    month->lines = machine_lines() - lines;
    month->people = *people_figures();
    month->people.deposited -= before.deposited;
    month->people.full -= before.full;
    before = *people_figures();
    written = machine_written();
    lines = machine_lines();
}

/* Days have 24 hours here; the local ones begin an hour earlier in summer. */
static void live_day(void)
{
    const int64_t end_ms =
        (machine_now_ms() - YEAR_BEGINS_MS) / DAY_MS * DAY_MS + YEAR_BEGINS_MS + DAY_MS;
    const int64_t noon_ms = end_ms - DAY_MS / 2;
    bool has_looked = false;

    plan_day();
    while (machine_now_ms() < end_ms) {
        step();
        if (!has_looked && machine_now_ms() >= noon_ms) {
            has_looked = true;
            look();
        }
    }
    check_acts();
}

/* --- figures ---------------------------------------------------------------------------------- */

static double per_day(uint64_t sum, unsigned month)
{
    return (double)sum / days_of[month];
}

static double mean(int64_t sum, const struct month *month)
{
    return (double)sum / month->looks;
}

/* Sizes are in KiB. */
static void print_months(void)
{
    printf("| Month | Messages a day | Stored | Written a day | In use | Files | Files, most | "
           "Memory | Memory, most | Starts | Refused | Lines |\n");
    printf("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (unsigned m = 0; m < MONTHS; m++) {
        const struct month *month = &year.months[m];
        printf("| %u | %.0f | %.0f | %.0f | %.0f | %.0f | %" PRId64 " | %.0f | %" PRId64
               " | %u | %" PRIu64 " | %" PRIu64 " |\n",
               m + 1, per_day(month->people.deposited, m), mean(month->stored_sum, month),
               per_day(month->written, m) / 1024, mean(month->used_sum, month) / 1024,
               mean(month->files_sum, month) / 1024, month->files_most / 1024,
               mean(month->memory_sum, month) / 1024, month->memory_peak / 1024, month->starts,
               month->people.full, month->lines);
    }
    const struct people_figures *people = people_figures();
    printf("%" PRIu64 " deposits sent, %" PRIu64 " acknowledged, %" PRIu64 " to closed hosts, "
           "%" PRIu64 " to a full storage; %" PRIu64 " withdrawn, %" PRIu64 " sent again, %" PRIu64
           " hidden, %" PRIu64 " removed; %" PRIu64 " messages looked at\n",
           people->asked, people->deposited, people->closed, people->full, people->withdrawn,
           people->repeated, people->hidden, people->removed, people->results);
}

static void check_flat(const char *what, double most, double second, double last)
{
    SIM_EXPECT(last <= most * second, "%s grow: %.0f in the second month, %.0f in the last", what,
               second, last);
}

static void check_months(void)
{
    const struct month *second = &year.months[SECOND_MONTH];
    const struct month *last = &year.months[LAST_MONTH];

    sim_position.doing = "the end";
    check_flat("bytes written for a message", 1.05,
               (double)second->written / (double)second->people.deposited,
               (double)last->written / (double)last->people.deposited);
    check_flat("bytes of the database in use for a stored message", 1.05,
               (double)second->used_sum / (double)second->stored_sum,
               (double)last->used_sum / (double)last->stored_sum);
    check_flat("bytes of memory", 1.05, mean(second->memory_sum, second),
               mean(last->memory_sum, last));
    check_flat("peaks of memory", 1.10, (double)second->memory_peak, (double)last->memory_peak);
}

static unsigned number_of(const char *name, unsigned usual)
{
    const char *text = getenv(name);

    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : usual;
}

int main(void)
{
    rng_init(&year.rng);
    sim_position.seed = year.rng.state;
    sim_random_seed(~year.rng.state);
    year.tick_ms = number_of("HEARSAY_YEAR_TICK", MINUTES_A_TICK) * MINUTE_MS;
    year.messages_a_day = number_of("HEARSAY_YEAR_MESSAGES", MESSAGES_A_DAY);
    year.set_clock_ms = year.synchronise_ms = INT64_MAX;
    SIM_CHECK(year.tick_ms >= MINUTE_MS && DAY_MS % year.tick_ms == 0);
    SIM_CHECK(year.messages_a_day <= MESSAGES_MAX);
    sim_random_init();
    machine_init();
    people_init(&year.rng);
    plan_events();
    machine_set_storage(false);
    machine_start(CLOCK_RIGHT);
    int64_t end_ms = YEAR_BEGINS_MS;
    for (unsigned m = 0; m < MONTHS; m++) {
        for (end_ms += days_of[m] * DAY_MS; machine_now_ms() < end_ms;) {
            live_day();
        }
        end_month(&year.months[m]);
    }
    machine_stop();
    machine_deinit();
    print_months();
    if (year.messages_a_day >= MESSAGES_FOR_FIGURES) {
        check_months();
    }
    return 0;
}
