/* SPDX-License-Identifier: Apache-2.0 */
/* year_machine: see year.h. */
#include "tests/sim/year.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/config/options.h"
#include "daemon/store/thread/sqlite.h"
#include "daemon/watch/watch.h"
#include "tests/lib/loop_fixture.h"
#include "tests/lib/pass_vfs.h"
#include "tests/lib/power_vfs.h"

enum { BLOCK_BYTES = 4096 };

#define FILE_TIME_MS (YEAR_BEGINS_MS - 12 * DAY_MS) /* of the newest file of the firmware */

static struct machine {
    struct requester client; /* first */
    struct config config;
    uv_loop_t loop;
    struct persist *persist;
    struct service *service; /* NULL: stopped */
    struct worker worker;
    struct long_work *work;
    char directory[LOOP_PATH_BYTES];
    int64_t now_ms; /* the true time */
    int64_t error_ms;
    int64_t booted_ms;
    int64_t behind_ms;  /* by how much the daemon's clock was, when the daemon ended */
    int64_t stopped_ms; /* see machine_stopped_ms */
    bool is_synchronised;
    bool takes_all; /* another program has all storage, and takes what the daemon frees */
    uint64_t written_at_cut;
    uint64_t unwritten; /* bytes that were written after the power had gone */
    atomic_uint changes_left;
    struct power_snapshot *snapshot; /* at the cut, which has come; NULL: not yet */
    uint64_t answers;
    struct year_answer answer;
    void (*take)(void *context, const struct hearsay_response *response);
    void *take_context;
} machine;

/* --- clocks ----------------------------------------------------------------------------------- */

/* Until the threads of the store wait. */
static void rest(void)
{
    if (machine.persist != NULL) {
        outside_rest();
    }
}

static void note_clock(void)
{
    rest();
    outside_set_clock(machine.now_ms - machine.booted_ms + SECOND_MS);
}

static int64_t read_wall_ms(void *context)
{
    (void)context;
    return machine.now_ms - machine.error_ms;
}

static int64_t read_monotonic_ms(void *context)
{
    (void)context;
    return machine.now_ms - machine.booted_ms + SECOND_MS;
}

static bool clock_synchronised(void *context)
{
    (void)context;
    return machine.is_synchronised;
}

int64_t machine_now_ms(void)
{
    return machine.now_ms;
}

int64_t machine_error_ms(void)
{
    return machine.error_ms;
}

int64_t machine_stopped_ms(void)
{
    return machine.stopped_ms;
}

void machine_pass(int64_t ms)
{
    rest();
    machine.now_ms += ms;
    note_clock();
}

void machine_set_clock(void)
{
    machine.error_ms = 0;
    machine.is_synchronised = false;
}

void machine_synchronise(bool synchronised)
{
    machine.is_synchronised = synchronised;
}

/* --- the daemon's life ------------------------------------------------------------------------ */

static void on_respond(struct requester *client, const struct hearsay_response *response)
{
    (void)client;
    machine.answers++;
    machine.answer = (struct year_answer){.kind = response->kind};
    if (response->kind == HEARSAY_RESPONSE_ERROR) {
        machine.answer.error = response->error;
    } else if (response->kind == HEARSAY_RESPONSE_DEPOSITED) {
        machine.answer.expires_ms = response->deposited.expires_ms;
    }
    if (machine.take != NULL) {
        machine.take(machine.take_context, response);
    }
}

static void on_work_ended(struct requester *client)
{
    (void)client;
}

static const struct requester_events events = {.respond = on_respond, .work_ended = on_work_ended};

static void submit_work(struct worker *worker, struct long_work *work)
{
    (void)worker;
    SIM_CHECK(machine.work == NULL);
    machine.work = work;
}

static void configure(void)
{
    static const char text[] = "[daemon]\nmoderation_log_keep = 7d\nlisten = 127.0.0.1:7117 local\n"
                               "[limits]\nmessages = 6000\nbytes = 4M\npayload = 2K\n"
                               "ttl_default = 1d\nttl_max = 30d\ncache = 512K\n"
                               "[host street]\naccept_schedule = 22:00-07:00 closed\n"
                               "hide_after = 3\n"
                               "[host night]\naccept_schedule = 02:30-03:30 closed\n"
                               "epoch_length = 1d\nepoch_keep = 7d\n";
    char reason[CONFIG_REASON_BYTES];

    SIM_EXPECT(settings_config_parse(&options_program, text, sizeof(text) - 1, "year",
                                     &machine.config, reason) == 0,
               "%s", reason);
    (void)snprintf(machine.config.data, sizeof(machine.config.data), "%s", machine.directory);
    SIM_EXPECT(config_finish(&machine.config, reason) == 0, "%s", reason);
}

void machine_init(void)
{
    machine.client.events = &events;
    machine.worker.submit = submit_work;
    machine.now_ms = YEAR_BEGINS_MS;
    power_vfs_install();
    SIM_CHECK(setenv("TZ", YEAR_ZONE, 1) == 0 && uv_loop_init(&machine.loop) == 0);
    loop_directory_make(machine.directory);
    power_vfs_begin(machine.directory);
    configure();
}

void machine_deinit(void)
{
    loop_directory_remove(machine.directory);
    SIM_CHECK(uv_loop_close(&machine.loop) == 0);
}

static void open_store(void)
{
    char reason[PERSIST_REASON_BYTES];
    const struct persist_sqlite_options options = {
        .loop = &machine.loop,
        .directory = machine.directory,
        .log_bytes = config_log_bytes(&machine.config),
        .messages_max = machine.config.limits.messages,
        .bytes_max = machine.config.limits.bytes,
        .free_bytes = pass_budget_free,
    };

    SIM_EXPECT(persist_sqlite_open(&options, &machine.persist, reason) == 0, "%s", reason);
}

void machine_start(enum year_clock clock)
{
    const struct service_options options = {
        .alloc = alloc_system(),
        .config = &machine.config,
        .hash_seed = 7,
        .read_wall_ms = read_wall_ms,
        .read_monotonic_ms = read_monotonic_ms,
        .clock_synchronised = clock_synchronised,
        .worker = &machine.worker,
    };
    struct service_options whole = options;
    char reason[CONFIG_REASON_BYTES];

    machine.booted_ms = machine.now_ms;
    machine.error_ms = clock == CLOCK_1970        ? machine.now_ms - 20 * SECOND_MS
                       : clock == CLOCK_OF_A_FILE ? machine.now_ms - FILE_TIME_MS
                                                  : 0;
    machine.is_synchronised = clock == CLOCK_RIGHT;
    note_clock();
    open_store();
    whole.persist = machine.persist;
    SIM_EXPECT(handler_open(&whole, &machine.service, reason) == 0, "%s", reason);
    /* The start takes a millisecond: nothing comes at the time of the last message before it. */
    machine.booted_ms--;
    note_clock();
    machine.client.is_local = machine.client.is_administrator = true;
    const int64_t behind_ms = machine.now_ms - service_now_ms(machine.service);
    if (behind_ms > machine.behind_ms) {
        machine.stopped_ms += behind_ms - machine.behind_ms;
    }
}

static void settle(void)
{
    while (machine.service->working > 0) {
        if (machine.work != NULL) {
            struct long_work *work = machine.work;
            machine.work = NULL; /* `done` may submit the next */
            work->run(work);
            work->done(work);
            continue;
        }
        (void)uv_run(&machine.loop, UV_RUN_ONCE);
    }
    rest();
}

static void on_closed(void *context)
{
    (void)context;
    machine.persist = NULL;
}

static void close_all(void)
{
    machine.behind_ms = machine.now_ms - service_now_ms(machine.service);
    service_stop(machine.service);
    settle();
    machine.persist->interface->close(machine.persist, on_closed, NULL);
    (void)uv_run(&machine.loop, UV_RUN_DEFAULT);
    SIM_CHECK(machine.persist == NULL);
    SIM_EQUAL(machine.client.work_count, 0);
    handler_close(machine.service);
    machine.service = NULL;
}

void machine_stop(void)
{
    service_save_clock(machine.service);
    close_all();
}

struct service *machine_service(void)
{
    return machine.service;
}

/* As the daemon's timer does it. */
void machine_tick(void)
{
    struct service *service = machine.service;

    if (machine.takes_all) {
        pass_budget_set(0);
    }
    epochs_tick(service);
    service_sweep(service); /* if the clock is set, this only moves messages */
    settle();
    service_sweep(service);
    watch_tick(service);
    if (service_arrange(service)) {
        while (service_turn(service)) {
        }
    }
    settle();
}

struct year_answer machine_ask(uint32_t sender, struct hearsay_request *request)
{
    const uint64_t before = machine.answers;

    request->id = before + 1;
    machine.client.is_administrator = sender == 0;
    machine.client.sender_tag = sender;
    handler_handle(machine.service, &machine.client, request);
    settle();
    SIM_EQUAL(machine.answers, before + 1);
    if (machine.answer.kind == HEARSAY_RESPONSE_ERROR) {
        SIM_CHECK(strlen(machine.answer.error.message) > 10); /* in words */
    }
    return machine.answer;
}

struct year_answer machine_ask_for(struct hearsay_request *request,
                                   void (*take)(void *context, const struct hearsay_response *),
                                   void *context)
{
    machine.take = take;
    machine.take_context = context;
    const struct year_answer answer = machine_ask(0, request);
    machine.take = NULL;
    return answer;
}

/* --- storage and memory ----------------------------------------------------------------------- */

int64_t machine_storage_bytes(void)
{
    DIR *entries = opendir(machine.directory);
    struct dirent *entry;
    struct stat status;
    int64_t bytes = 0;

    SIM_CHECK(entries != NULL);
    while ((entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] != '.' && fstatat(dirfd(entries), entry->d_name, &status, 0) == 0) {
            bytes += (status.st_size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        }
    }
    (void)closedir(entries);
    return bytes;
}

static int64_t read_number(const uint8_t *header, size_t at, size_t count)
{
    int64_t number = 0;

    for (size_t i = 0; i < count; i++) {
        number = number << 8 | header[at + i];
    }
    return number;
}

/* By the header of the database, as the last checkpoint has left it. */
int64_t machine_used_bytes(void)
{
    enum { PAGE_BYTES_AT = 16, PAGES_AT = 28, FREE_PAGES_AT = 36, HEADER_BYTES = 40 };
    char path[LOOP_PATH_BYTES + 16];
    uint8_t header[HEADER_BYTES];

    (void)snprintf(path, sizeof(path), "%s/messages.db", machine.directory);
    FILE *file = fopen(path, "rb");
    SIM_CHECK(file != NULL && fread(header, sizeof(header), 1, file) == 1);
    (void)fclose(file);
    return read_number(header, PAGE_BYTES_AT, 2) *
           (read_number(header, PAGES_AT, 4) - read_number(header, FREE_PAGES_AT, 4));
}

void machine_set_storage(bool takes_all)
{
    machine.takes_all = takes_all;
    pass_budget_set(takes_all ? 0 : STORAGE_BYTES - machine_storage_bytes());
}

uint64_t machine_written(void)
{
    return pass_written() - machine.unwritten;
}

/* --- power cuts ------------------------------------------------------------------------------- */

static void before_change(void *context)
{
    (void)context;
    if (atomic_load(&machine.changes_left) > 0 && atomic_fetch_sub(&machine.changes_left, 1) == 1) {
        machine.written_at_cut = pass_written();
        machine.snapshot = power_vfs_snapshot();
    }
}

void machine_doom(unsigned changes)
{
    atomic_store(&machine.changes_left, changes);
    power_vfs_observe(before_change, NULL);
}

void machine_cut(struct rng *rng)
{
    power_vfs_observe(NULL, NULL);
    if (machine.snapshot == NULL) {
        machine.written_at_cut = pass_written();
        machine.snapshot = power_vfs_snapshot();
    }
    close_all();
    loop_directory_remove(machine.directory);
    loop_directory_make(machine.directory);
    power_snapshot_restore(machine.snapshot, rng, machine.directory);
    power_snapshot_free(machine.snapshot);
    machine.snapshot = NULL;
    power_vfs_begin(machine.directory);
    (void)snprintf(machine.config.data, sizeof(machine.config.data), "%s", machine.directory);
    machine.unwritten += pass_written() - machine.written_at_cut;
    machine_set_storage(machine.takes_all);
}
