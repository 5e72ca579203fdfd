/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flash: bytes that the store writes for a deposit that is committed alone, and bytes that come to
 * the device, with pages of 4096 and of 1024 bytes. When the measurement begins, the store has
 * 100,000 messages, and its log has its full size. The measured deposits fill the log several
 * times, with a checkpoint each time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/thread/sqlite.h"
#include "tests/bench/flash_device.h"
#include "tests/bench/stats.h"
#include "tests/bench/workload.h"

enum {
    STORED = 100000,
    TOGETHER = 1000,  /* deposits of a commit until all messages are stored */
    WARMING = 3000,   /* more than fill the log once */
    MEASURED = 10000, /* several times as many as fill the log */
    SEED = 1
};

/* A store in this process. */
struct flash {
    uv_loop_t loop;
    struct persist *persist;
    struct persist_sqlite_options options;
    uint32_t host;
    struct persist_op ops[TOGETHER];
    struct workload_message messages[TOGETHER];
};

struct cost {
    double program_bytes;
    double device_bytes;
    double per_s;
};

static unsigned operations_done;
static unsigned operations_failed;

static void on_done(struct persist_op *op)
{
    operations_done++;
    operations_failed += op->outcome != PERSIST_APPLIED;
}

static void describe(struct flash *flash, uint64_t number, size_t place)
{
    const int64_t now_ms = INT64_C(1800000000000) + (int64_t)number;

    workload_make(SEED, number, &flash->messages[place]);
    flash->ops[place] =
        (struct persist_op){.kind = PERSIST_DEPOSIT, .now_ms = now_ms, .done = on_done};
    workload_describe(&flash->messages[place], flash->host, now_ms, &flash->ops[place].message);
}

/* Deposits messages, `together` at a time. */
static int deposit(struct flash *flash, uint64_t first, uint64_t count, size_t together)
{
    operations_failed = 0;
    for (uint64_t at = 0; at < count; at += together) {
        for (size_t i = 0; i < together; i++) {
            describe(flash, first + at + i, i);
        }
        operations_done = 0;
        for (size_t i = 0; i < together; i++) {
            flash->persist->interface->submit(flash->persist, &flash->ops[i]);
        }
        while (operations_done < together) {
            (void)uv_run(&flash->loop, UV_RUN_ONCE);
        }
    }
    return operations_failed == 0 ? 0 : bench_fail("a deposit was not stored");
}

static int open_store(struct flash *flash)
{
    char profile[PROFILE_TEXT_MAX];
    char reason[PERSIST_REASON_BYTES] = "";

    if (persist_sqlite_open(&flash->options, &flash->persist, reason) != 0 ||
        flash->persist->interface->add_host(flash->persist, "default", workload_profile,
                                            &flash->host, profile, reason) != 0) {
        return bench_fail("%s", reason);
    }
    return 0;
}

static void close_store(struct flash *flash)
{
    if (flash->persist != NULL) {
        flash->persist->interface->close(flash->persist, NULL, NULL);
        (void)uv_run(&flash->loop, UV_RUN_DEFAULT);
        flash->persist = NULL;
    }
}

/* Returns the number of bytes that this process has passed to write() and similar system calls. */
static int64_t program_written(void)
{
    char line[128];
    int64_t bytes = -1;
    FILE *file = fopen("/proc/self/io", "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "wchar: ", 7) == 0) {
            bytes = strtoll(line + 7, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return bytes;
}

static int measure_deposits(struct flash *flash, const struct flash_device *device, uint64_t stored,
                            uint64_t count, struct cost *out)
{
    int rc = open_store(flash);

    if (rc == 0) {
        rc = deposit(flash, stored, WARMING, 1);
    }
    const int64_t device_before = rc == 0 ? flash_device_written(device) : -1;
    const int64_t program_before = program_written();
    const int64_t start_ns = stats_now_ns();

    if (rc != 0 || device_before < 0 || deposit(flash, stored + WARMING, count, 1) != 0) {
        return -1;
    }
    out->per_s = (double)count * 1e9 / (double)(stats_now_ns() - start_ns);
    out->program_bytes = (double)(program_written() - program_before) / (double)count;
    const int64_t device_after = flash_device_written(device);
    out->device_bytes = (double)(device_after - device_before) / (double)count;
    return device_after < 0 ? -1 : 0;
}

/* `bytes`: the key of the configuration, from which the size of the pages follows. */
static int measure_pages(const struct bench_options *options, uint64_t bytes, struct cost *out)
{
    static struct flash flash;
    const uint64_t stored = bench_or(options->count, STORED) / TOGETHER * TOGETHER;
    struct flash_device device;

    memset(&flash, 0, sizeof(flash));
    int rc = flash_device_begin(&device, options->dir);
    (void)uv_loop_init(&flash.loop);
    flash.options = (struct persist_sqlite_options){
        .loop = &flash.loop, .directory = device.mount, .bytes_max = bytes, .messages_max = 1};
    if (rc == 0) {
        rc = open_store(&flash);
    }
    if (rc == 0) {
        rc = deposit(&flash, 0, stored, TOGETHER);
    }
    close_store(&flash);
    if (rc == 0) {
        rc = measure_deposits(&flash, &device, stored, MEASURED, out);
    }
    close_store(&flash);
    (void)uv_loop_close(&flash.loop);
    flash_device_end(&device);
    return rc;
}

int bench_flash(const struct bench_options *options, struct report *report)
{
    struct cost large = {0};
    struct cost small = {0};

    if (geteuid() != 0) {
        report_note(report, "flash: skipped; it needs root, for a loop device and a mount");
        return 0;
    }
    if (measure_pages(options, UINT64_C(64) << 20, &large) != 0 ||
        measure_pages(options, UINT64_C(16) << 20, &small) != 0) {
        return -1;
    }
    report_begin(report, "flash", "bytes written for a deposit that is committed alone");
    report_figure(report, "program_4096_bytes", large.program_bytes, 0, "B",
                  "by the store, pages of 4096 bytes");
    report_figure(report, "device_4096_bytes", large.device_bytes, 0, "B", "to the device");
    report_figure(report, "deposits_4096_per_s", large.per_s, 0, "/s", "one after the other");
    report_figure(report, "program_1024_bytes", small.program_bytes, 0, "B",
                  "by the store, pages of 1024 bytes");
    report_figure(report, "device_1024_bytes", small.device_bytes, 0, "B", "to the device");
    report_figure(report, "deposits_1024_per_s", small.per_s, 0, "/s", "one after the other");
    report_end(report);
    return 0;
}
