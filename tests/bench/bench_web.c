/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-bench web: hearsay-web in front of hearsayd, with phones that read, leave messages and
 * keep the page open. hearsay-web, hearsayd and lighttpd run on the first processors, the phones
 * and the attackers on the last one.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/load_attack.h"
#include "tests/bench/memory_map.h"
#include "tests/bench/phones.h"
#include "tests/bench/stats.h"
#include "tests/bench/web_attack.h"
#include "tests/bench/web_client.h"
#include "tests/bench/web_stage.h"

enum {
    MESSAGES = 20,         /* of one page */
    MESSAGE_BYTES = 200,   /* the text of each */
    LOOP_CONNECTIONS = 32, /* that ask for pages as fast as they are answered */
    NEW_VIEWS = 960,       /* fewer than `views`, with those under way at the end */
    LAST_MESSAGES = 1000,  /* that the Last-Event-IDs of returning phones are spread over */
    STREAMS = 256,         /* of the memory's figure */
    ATTACK_ROUNDS_MAX = 99,
    HEAD_BYTES = 512
};

struct web_options {
    struct bench_options bench;
    const char *hearsay_web;
    const char *hearsay;
    uint32_t phones;
    uint32_t seconds;
    uint32_t rounds;
    enum web_attack attack;
    bool json;
};

static const char limit_lines[] = "queries_per_minute = 0\ndeposits_per_minute = 0\n"
                                  "sessions_per_address = 1024\n";

/* --- processors ------------------------------------------------------------------------------- */

/* Lets this process run on the last processor only, or on all others. */
static void choose_processor(bool is_last)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;

    CPU_ZERO(&set);
    for (long i = 0; i < count; i++) {
        if ((i == count - 1) == is_last) {
            CPU_SET((size_t)i, &set);
        }
    }
    if (count > 1) {
        (void)sched_setaffinity(0, sizeof(set), &set); /* else the machine has its say, too */
    }
}

/* The programs inherit the processors that this process has when it starts them. */
static int begin(const struct web_options *options, const char *web_lines, struct web_stage *stage)
{
    const struct web_stage_options stage_options = {
        .bench = &options->bench,
        .hearsay_web = options->hearsay_web,
        .hearsay = options->hearsay,
        .limit_lines = limit_lines,
        .web_lines = web_lines,
    };

    choose_processor(false);
    const int rc = web_stage_begin(stage, &stage_options);
    choose_processor(true);
    return rc;
}

static struct phones_plan plan_of(const struct web_options *options, const struct web_stage *stage)
{
    struct phones_plan plan = {
        .port = stage->web.port,
        .phones = options->phones,
        .places = 1,
        .seed = 1,
    };

    web_stage_name(stage, plan.name, sizeof(plan.name));
    return plan;
}

static double percentile_ms(const struct histogram *us, uint32_t millionths)
{
    return (double)histogram_percentile(us, millionths) / 1000;
}

/* --- pages as fast as they come --------------------------------------------------------------- */

struct loop {
    struct web_client *client;
    char head[HEAD_BYTES];
    bool is_new_view; /* each request is for a view that nobody has asked for */
    uint64_t most;    /* of pages; 0: no end */
    bool is_over;
    uint64_t answered;
    uint64_t refused;
    char *page; /* the last one */
};

static void loop_ask(struct loop *loop, size_t number)
{
    char text[HEAD_BYTES + 64];
    char view[32] = "";

    if (loop->is_new_view) {
        (void)snprintf(view, sizeof(view), "?t=view%" PRIu64 "-%zu", loop->answered + loop->refused,
                       number);
    }
    const int bytes = snprintf(text, sizeof(text), "GET /%s HTTP/1.1\r\n%s", view, loop->head);
    const struct web_request request = {
        .source = (uint32_t)(0x7f010001 + number), .text = text, .bytes = (size_t)bytes};
    web_send(loop->client, number, &request);
}

static void loop_on_answer(void *context, size_t number, const struct web_answer *answer)
{
    struct loop *loop = context;

    loop->answered += answer->status == 200 ? 1 : 0;
    loop->refused += answer->status == 200 ? 0 : 1;
    if (answer->status == 200 && loop->page == NULL) {
        loop->page = strdup(answer->body);
    }
    loop->is_over = loop->is_over || (loop->most > 0 && loop->answered == loop->most);
    if (!loop->is_over) {
        loop_ask(loop, number);
    }
}

static void loop_on_line(void *context, size_t number, const char *line)
{
    (void)context;
    (void)number;
    (void)line;
}

/* Asks for pages for some seconds, or until `most` have come. Returns pages a second; -1 after a
 * message on standard error. */
static double loop_run(struct loop *loop, uint16_t port, const char *name, uint32_t seconds)
{
    static const struct web_events events = {loop_on_answer, loop_on_line};
    const int64_t start_ns = stats_now_ns();
    const int64_t end_ns = start_ns + (int64_t)seconds * 1000000000;

    loop->client = web_client_new(port, LOOP_CONNECTIONS, &events, loop);
    if (loop->client == NULL) {
        return -1;
    }
    (void)snprintf(loop->head, sizeof(loop->head), "Host: %s\r\nAccept-Language: en\r\n\r\n", name);
    for (size_t i = 0; i < LOOP_CONNECTIONS; i++) {
        loop_ask(loop, i);
    }
    while (!loop->is_over && stats_now_ns() < end_ns) {
        web_wait(loop->client, end_ns);
    }
    const double spent_s = (double)(stats_now_ns() - start_ns) / 1e9;
    loop->is_over = true;
    web_client_free(loop->client);
    return (double)loop->answered / spent_s;
}

struct speeds {
    double cached[ATTACK_ROUNDS_MAX];
    double lighttpd[ATTACK_ROUNDS_MAX];
    double ratio[ATTACK_ROUNDS_MAX];
    double cached_us[ATTACK_ROUNDS_MAX]; /* of the processor, for each page */
    double lighttpd_us[ATTACK_ROUNDS_MAX];
    double cpu_ratio[ATTACK_ROUNDS_MAX];
    double new_views[ATTACK_ROUNDS_MAX];
    size_t page_bytes;
    bool has_lighttpd;
};

/* The time of a processor that a child has used for each page since `before_s`. */
static double page_us(const struct child *child, double before_s, const struct loop *loop)
{
    return (child_cpu_seconds(child) - before_s) * 1e6 / (double)loop->answered;
}

static int measure_lighttpd(const struct web_options *options, const struct web_stage *stage,
                            const char *page, double *out_per_second, double *out_us)
{
    struct child lighttpd = {.log = -1};
    struct loop loop = {.page = NULL};

    choose_processor(false);
    const int rc = web_stage_start_lighttpd(stage, &lighttpd, page);
    choose_processor(true);
    if (rc == 0) {
        const double before_s = child_cpu_seconds(&lighttpd);
        *out_per_second = loop_run(&loop, lighttpd.port, "127.0.0.1", options->seconds);
        *out_us = page_us(&lighttpd, before_s, &loop);
    }
    free(loop.page);
    child_stop(&lighttpd);
    return rc == 0 && *out_per_second < 0 ? -1 : rc;
}

/*
 * Pages a second, of views that nobody has asked for. A hearsay-web that was just started asks
 * hearsayd at once for as many lists as `views` says; later for HOUSE_QUERIES_PER_SECOND.
 */
static double measure_new_views(const struct web_options *options, struct web_stage *stage)
{
    struct loop loop = {.is_new_view = true, .most = NEW_VIEWS};
    char name[PHONES_NAME_BYTES];

    choose_processor(false);
    const int rc = web_stage_restart_web(stage);
    choose_processor(true);
    if (rc != 0) {
        return -1;
    }
    web_stage_name(stage, name, sizeof(name));
    const double before = web_stage_figure(stage, "query_total");
    const double per_second = loop_run(&loop, stage->web.port, name, options->seconds);
    const double queries = web_stage_figure(stage, "query_total") - before;
    free(loop.page);
    if (loop.answered < NEW_VIEWS || queries < NEW_VIEWS) {
        return bench_fail("%" PRIu64 " of %d pages of new views came, %" PRIu64
                          " refusals, and %.0f queries were asked",
                          loop.answered, NEW_VIEWS, loop.refused, queries);
    }
    return per_second;
}

static int measure_speeds(const struct web_options *options, struct web_stage *stage,
                          struct speeds *out)
{
    char name[PHONES_NAME_BYTES];
    int rc = 0;

    for (uint32_t i = 0; i < options->rounds && rc == 0; i++) {
        struct loop loop = {.page = NULL};
        web_stage_name(stage, name, sizeof(name)); /* a restart changes the port */
        const double before_s = child_cpu_seconds(&stage->web);
        out->cached[i] = loop_run(&loop, stage->web.port, name, options->seconds);
        out->cached_us[i] = page_us(&stage->web, before_s, &loop);
        out->page_bytes = loop.page != NULL ? strlen(loop.page) : 0;
        if (loop.page == NULL || out->cached[i] < 0) {
            rc = bench_fail("no page came; %" PRIu64 " answers were refusals", loop.refused);
        } else if ((rc = measure_lighttpd(options, stage, loop.page, &out->lighttpd[i],
                                          &out->lighttpd_us[i])) == 0) {
            out->has_lighttpd = true;
            out->ratio[i] = out->cached[i] / out->lighttpd[i];
            out->cpu_ratio[i] = out->lighttpd_us[i] / out->cached_us[i];
        }
        free(loop.page);
        rc = rc > 0 ? 0 : rc;
        if (rc == 0) {
            out->new_views[i] = measure_new_views(options, stage);
            rc = out->new_views[i] < 0 ? -1 : 0;
        }
    }
    return rc;
}

static void report_speeds(struct report *report, struct speeds *speeds, uint32_t rounds)
{
    report_figure(report, "page_bytes", (double)speeds->page_bytes, 0, "bytes",
                  "the page with 20 messages of 200 bytes");
    report_figure(report, "cached_per_s", stats_median(speeds->cached, rounds), 0, "pages/s",
                  "the same page from 32 phones");
    if (speeds->has_lighttpd) {
        report_figure(report, "lighttpd_per_s", stats_median(speeds->lighttpd, rounds), 0,
                      "pages/s", "the same bytes as a file, from lighttpd");
        report_goal(report, "cached_ratio", stats_median(speeds->ratio, rounds), 0.5,
                    "hearsay-web of lighttpd");
        report_figure(report, "cached_us", stats_median(speeds->cached_us, rounds), 1, "us",
                      "the processor's time for a page of hearsay-web");
        report_figure(report, "lighttpd_us", stats_median(speeds->lighttpd_us, rounds), 1, "us",
                      "of lighttpd");
        report_goal(report, "cached_cpu_ratio", stats_median(speeds->cpu_ratio, rounds), 0.5,
                    "hearsay-web of lighttpd, by these; right on a busy machine, too");
    } else {
        report_note(report, "lighttpd is not installed: no comparison");
    }
    report_goal(report, "new_views_per_s", stats_median(speeds->new_views, rounds), 5000,
                "pages/s of views that nobody asked for, 960 at once after a start");
}

/* --- phones ----------------------------------------------------------------------------------- */

/* Leaves messages that fill the page, with texts of MESSAGE_BYTES. */
static int fill(const struct web_options *options, const struct web_stage *stage, uint32_t count)
{
    struct phones_plan plan = plan_of(options, stage);
    struct phones_result result = {0};

    plan.phones = LOOP_CONNECTIONS;
    plan.text_bytes = MESSAGE_BYTES;
    plan.deposits_per_second = 200;
    struct phones *phones = phones_new(&plan);
    int rc = phones == NULL ? -1 : phones_open(phones, &result);
    while (rc == 0 && result.left < count) {
        const uint64_t before = result.left;
        phones_run(phones, 0.1, &result);
        rc = result.left > before
                 ? 0
                 : bench_fail("no message could be left: %" PRIu64 " refused", result.refused);
    }
    phones_free(phones);
    return rc;
}

/* The time from a form that is sent to the screen of another phone. */
static int measure_shown(const struct web_options *options, struct web_stage *stage,
                         struct report *report)
{
    struct phones_plan plan = plan_of(options, stage);
    struct phones_result opened = {0};
    struct phones_result result = {0};

    plan.has_streams = true;
    plan.deposits_per_second = 5;
    plan.pages_per_second = 5;
    struct phones *phones = phones_new(&plan);
    const int rc = phones == NULL ? -1 : phones_open(phones, &opened);
    if (rc == 0) {
        phones_run(phones, options->seconds, &result);
        report_figure(report, "left", (double)result.left, 0, "messages", "left by phones");
        report_figure(report, "shown", (double)result.shown, 0, "", "times that one was shown");
        report_figure(report, "shown_p50_ms", percentile_ms(&result.shown_us, 500000), 1, "ms",
                      "from a form sent to another phone's screen, p50");
        report_ceiling(report, "shown_p99_ms", percentile_ms(&result.shown_us, 990000), 300,
                       "the same, p99");
        report_figure(report, "page_p99_ms", percentile_ms(&result.page_us, 990000), 1, "ms",
                      "a page, p99");
        report_figure(report, "refused", (double)(result.refused + result.lost), 0, "",
                      "answers that were refusals, or did not come");
    }
    phones_free(phones);
    return rc;
}

/* All phones come back at once after a restart of hearsay-web. */
static int measure_return(const struct web_options *options, struct web_stage *stage,
                          struct report *report)
{
    struct phones_plan plan = plan_of(options, stage);
    struct phones_result result = {0};

    plan.has_streams = true;
    plan.deposits_per_second = 1;
    struct phones *phones = phones_new(&plan);
    int rc = phones == NULL ? -1 : phones_open(phones, &result);
    if (rc == 0) {
        phones_run(phones, 2, &result); /* so that each phone knows the id of an event */
        choose_processor(false);
        rc = web_stage_restart_web(stage);
        choose_processor(true);
    }
    if (rc == 0) {
        const double queries = web_stage_figure(stage, "query_total");
        web_stage_name(stage, plan.name, sizeof(plan.name));
        phones_use_port(phones, stage->web.port, plan.name);
        const double seconds = phones_come_back(phones, LAST_MESSAGES, &result);
        rc = seconds < 0 ? -1 : 0;
        const double spent_s = seconds > 1 ? seconds : 1;
        report_ceiling(report, "return_s", seconds, 5, "until all phones are back, seconds");
        report_ceiling(report, "return_queries_per_s",
                       (web_stage_figure(stage, "query_total") - queries) / spent_s, 2,
                       "queries a second at hearsayd meanwhile");
        report_ceiling(report, "return_watches", web_stage_figure(stage, "watches"), 2,
                       "watches at hearsayd afterwards");
    }
    phones_free(phones);
    return rc;
}

static double resident_mib(const struct web_stage *stage)
{
    struct memory_map map;

    return memory_map_read(stage->web.pid, &map) == 0 ? map.total / (1024 * 1024) : 0;
}

static int measure_memory(const struct web_options *options, struct web_stage *stage,
                          struct report *report)
{
    struct phones_plan plan = plan_of(options, stage);
    struct phones_result result = {0};
    const double idle_mib = resident_mib(stage);

    plan.phones = STREAMS;
    plan.has_streams = true;
    plan.closes_pages = true;
    struct phones *phones = phones_new(&plan);
    const int rc = phones == NULL ? -1 : phones_open(phones, &result);
    if (rc == 0) {
        phones_run(phones, 3, &result); /* the memory of the first requests is given back */
        const double full_mib = resident_mib(stage);
        report_ceiling(report, "idle_mib", idle_mib, 9, "resident after the start, MiB");
        report_ceiling(report, "streams_mib", full_mib, 12, "resident with 256 open pages, MiB");
        report_ceiling(report, "stream_kib", (full_mib - idle_mib) * 1024 / STREAMS, 8,
                       "for each open page, KiB");
    }
    phones_free(phones);
    return rc;
}

static int run_figures(const struct web_options *options, struct report *report)
{
    static struct web_stage stage;
    static struct speeds speeds;

    int rc = begin(options,
                   "events = 1024\nconnections = 2048\n"
                   "views = 1024\n",
                   &stage);
    report_begin(report, "web", "hearsay-web with phones, beside lighttpd");
    rc = rc == 0 ? measure_memory(options, &stage, report) : rc;
    rc = rc == 0 ? fill(options, &stage, MESSAGES) : rc;
    rc = rc == 0 ? measure_speeds(options, &stage, &speeds) : rc;
    if (rc == 0) {
        report_speeds(report, &speeds, options->rounds);
    }
    rc = rc == 0 ? measure_shown(options, &stage, report) : rc;
    rc = rc == 0 ? fill(options, &stage, LAST_MESSAGES) : rc;
    rc = rc == 0 ? measure_return(options, &stage, report) : rc;
    report_end(report);
    web_stage_end(&stage);
    return rc;
}

/* --- attacks ---------------------------------------------------------------------------------- */

enum turn { TURN_QUIET, TURN_ATTACKED, TURN_ELSEWHERE, TURNS };

struct attack_samples {
    double page_ms[TURNS][ATTACK_ROUNDS_MAX];
    double shown_ms[TURNS][ATTACK_ROUNDS_MAX];
};

/* The times of others while somebody attacks `target`; NULL: nobody does. */
static int run_turn(const struct web_options *options, struct phones *phones,
                    const struct web_stage *target, struct phones_result *result)
{
    char name[PHONES_NAME_BYTES];
    pid_t attacker = 0;

    if (target != NULL) {
        web_stage_name(target, name, sizeof(name));
        attacker = web_attack_begin(options->attack, target->web.port, name);
        if (attacker < 0) {
            return -1;
        }
    }
    phones_run(phones, options->seconds, result);
    if (target != NULL) {
        (void)load_attack_end(attacker);
    }
    return result->pages > 0 ? 0 : bench_fail("no page was answered");
}

static void report_kind(struct report *report, double samples[TURNS][ATTACK_ROUNDS_MAX],
                        uint32_t rounds, const char *what)
{
    static const char *const names[TURNS] = {"quiet", "attacked", "elsewhere"};
    double ratios[ATTACK_ROUNDS_MAX];
    char key[64];
    char text[96];

    for (uint32_t i = 0; i < rounds; i++) {
        ratios[i] = samples[TURN_ATTACKED][i] / samples[TURN_ELSEWHERE][i];
    }
    for (int turn = 0; turn < TURNS; turn++) {
        (void)snprintf(key, sizeof(key), "%s_p99_%s_ms", what, names[turn]);
        (void)snprintf(text, sizeof(text), "%s of others, p99, %s", what, names[turn]);
        report_figure(report, key, stats_median(samples[turn], rounds), 2, "ms", text);
    }
    (void)snprintf(key, sizeof(key), "%s_ratio", what);
    report_ceiling(report, key, stats_median(ratios, rounds), 2, "attacked to elsewhere");
}

static int run_rounds(const struct web_options *options, struct phones *phones,
                      const struct web_stage *stage, const struct web_stage *other,
                      struct report *report)
{
    static struct attack_samples samples;
    const struct web_stage *targets[TURNS] = {NULL, stage, other};
    uint64_t failed = 0;

    for (uint32_t i = 0; i < options->rounds; i++) {
        for (int turn = 0; turn < TURNS; turn++) {
            struct phones_result result = {0};
            if (run_turn(options, phones, targets[turn], &result) != 0) {
                return -1;
            }
            samples.page_ms[turn][i] = percentile_ms(&result.page_us, 990000);
            samples.shown_ms[turn][i] = percentile_ms(&result.shown_us, 990000);
            failed += result.refused + result.lost;
        }
    }
    report_kind(report, samples.page_ms, options->rounds, "page");
    report_kind(report, samples.shown_ms, options->rounds, "shown");
    report_figure(report, "failed", (double)failed, 0, "",
                  "answers to others that were refusals, or did not come");
    return 0;
}

static int run_attack(const struct web_options *options, struct report *report)
{
    static struct web_stage stage;
    static struct web_stage other;
    struct phones_result opened = {0};

    int rc = begin(options, NULL, &stage);
    rc = rc == 0 ? begin(options, NULL, &other) : rc;
    rc = rc == 0 ? fill(options, &stage, MESSAGES) : rc;
    struct phones_plan plan = plan_of(options, &stage);
    plan.has_streams = true;
    plan.pages_per_second = 20;
    plan.deposits_per_second = 2;
    struct phones *phones = rc == 0 ? phones_new(&plan) : NULL;
    rc = phones == NULL || phones_open(phones, &opened) != 0 ? -1 : 0;
    report_begin(report, "web", "hearsay-web under attack from one address");
    report_note(report, web_attack_names[options->attack]);
    rc = rc == 0 ? run_rounds(options, phones, &stage, &other, report) : rc;
    report_end(report);
    phones_free(phones);
    web_stage_end(&other);
    web_stage_end(&stage);
    return rc;
}

/* --- options ---------------------------------------------------------------------------------- */

static int parse_attack(char *text, void *destination)
{
    enum web_attack *out = destination;

    for (int i = WEB_ATTACK_SLOW; i < WEB_ATTACK_KINDS; i++) {
        if (strcmp(text, web_attack_names[i]) == 0) {
            *out = (enum web_attack)i;
            return 0;
        }
    }
    return bench_fail("--attack takes slow or requests, not %s", text);
}

static enum options_outcome read_options(int argc, char **argv, struct web_options *options)
{
    struct option_row rows[] = {
        OPTION_U32("phones", "N", &options->phones, 2, PHONES_MAX, "that keep the page open (200)"),
        OPTION_U32("seconds", "N", &options->seconds, 1, 3600, "of each measurement (10)"),
        OPTION_U32("rounds", "N", &options->rounds, 1, ATTACK_ROUNDS_MAX,
                   "of what is compared (3)"),
        OPTION_PARSE("attack", "KIND", parse_attack, &options->attack,
                     "slow or requests: times of others, quiet, beside the attack, and\n"
                     "beside the same attack on another hearsay-web"),
        OPTION_TEXT("hearsay-web", "FILE", &options->hearsay_web,
                    "the page's program (default: the one built beside this)"),
        OPTION_TEXT("hearsay", "FILE", &options->hearsay,
                    "the command (default: the one built beside this)"),
    };
    struct option_row daemon_rows[BENCH_ROWS];
    const struct options_table table = {
        .command = "web",
        .about = "The page for phones: pages, memory, messages that appear, attacks.\n",
        .groups = {{NULL, rows, sizeof(rows) / sizeof(rows[0])},
                   {"As for the other commands", daemon_rows, BENCH_ROWS}},
    };

    bench_rows(&options->bench, &options->json, daemon_rows);
    return options_read(&table, argc, argv);
}

int bench_web(int argc, char **argv)
{
    struct web_options options = {
        .bench = bench_standard(),
        .hearsay_web = bench_program("client/hearsay-web"),
        .hearsay = bench_program("client/hearsay"),
        .phones = 200,
        .seconds = 10,
        .rounds = 3,
    };
    const enum options_outcome outcome = read_options(argc, argv, &options);
    struct report report = {.out = stdout, .json = options.json};

    if (outcome != OPTIONS_RUN) {
        return outcome == OPTIONS_HELP ? 0 : -1;
    }
    return options.attack == WEB_ATTACK_NONE ? run_figures(&options, &report)
                                             : run_attack(&options, &report);
}
