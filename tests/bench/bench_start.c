/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the time from exec to the line that says that a daemon with many stored messages is ready,
 * and to the line that says that its messages are arranged. Also the times of the parts. The first
 * round has the database in the system's cache; the second round does not.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/alone.h"
#include "tests/bench/model.h"
#include "tests/bench/stage.h"
#include "tests/bench/stats.h"

enum { COUNT = 100000, IN_FLIGHT = 2000, ROUNDS = 7, SEED = 1 };

struct samples {
    double ready_ms[BENCH_ROUNDS_MAX];
    double arranged_ms[BENCH_ROUNDS_MAX];
    double loaded_ms[BENCH_ROUNDS_MAX];
    double cold_ms[BENCH_ROUNDS_MAX];
    double open_ms[BENCH_ROUNDS_MAX];
    double read_ms[BENCH_ROUNDS_MAX];
    double insert_ms[BENCH_ROUNDS_MAX];
    double empty_ms;
    double file_mib;
};

static int fill(const struct bench_options *options, const char *directory,
                const struct frames *frames, double *out_empty_ms)
{
    static struct stage stage;
    struct peer_outcome outcome = {0};

    int rc = stage_begin(&stage, options, directory, 1);
    *out_empty_ms = stage.child.times.ready_ms;
    if (rc == 0) {
        rc = stage_deposit(&stage, frames, IN_FLIGHT, &outcome);
    }
    stage_end(&stage);
    return rc;
}

static int start_once(const struct bench_options *options, const char *directory,
                      struct child_times *out)
{
    struct child child;

    int rc = child_start_daemon(&child, options->hearsayd, directory);
    if (rc == 0) {
        rc = child_wait_until_arranged(&child);
    }
    *out = child.times;
    child_stop(&child);
    return rc;
}

/* Makes the system drop its cache of a file. Returns the file's size, or 0 if there is no file. */
static double forget(const char *path)
{
    struct stat status = {0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0) {
        return 0;
    }
    if (fsync(file) != 0 || fstat(file, &status) != 0 ||
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) {
        (void)bench_fail("%s stays in the system's cache", path);
    }
    (void)close(file);
    return (double)status.st_size;
}

static int run_round(const struct bench_options *options, const char *directory, const char *path,
                     size_t count, struct samples *samples, uint32_t round)
{
    struct child_times times = {0};
    struct alone_reading reading = {0};
    struct model_index index = {0};

    if (start_once(options, directory, &times) != 0) {
        return -1;
    }
    samples->ready_ms[round] = times.ready_ms;
    samples->arranged_ms[round] = times.arranged_ms;
    samples->loaded_ms[round] = times.loaded_ms;
    if (alone_read(path, &reading) != 0 || model_index(SEED, count, false, &index) != 0) {
        return -1;
    }
    if (reading.rows != count) {
        return bench_fail("%zu of %zu messages are stored", reading.rows, count);
    }
    samples->open_ms[round] = reading.open_seconds * 1000;
    samples->read_ms[round] = reading.read_seconds * 1000;
    samples->insert_ms[round] = index.seconds * 1000;
    samples->file_mib = forget(path) / 1048576;
    if (start_once(options, directory, &times) != 0) {
        return -1;
    }
    samples->cold_ms[round] = times.ready_ms;
    return 0;
}

static void tell(struct report *report, struct samples *samples, uint32_t rounds, size_t count)
{
    char title[128];

    snprintf(title, sizeof(title), "%zu messages, a database of %.0f MiB; medians of %u rounds",
             count, samples->file_mib, (unsigned)rounds);
    report_begin(report, "start", title);
    report_figure(report, "ready_ms", stats_median(samples->ready_ms, rounds), 0, "ms",
                  "start to ready, database in the system's cache");
    report_figure(report, "arranged_ms", stats_median(samples->arranged_ms, rounds), 0, "ms",
                  "start to all messages arranged, while it serves");
    report_figure(report, "cold_ms", stats_median(samples->cold_ms, rounds), 0, "ms",
                  "start to ready, database read from storage");
    report_figure(report, "empty_ms", samples->empty_ms, 0, "ms",
                  "start to ready, making a new database");
    report_figure(report, "loaded_ms", stats_median(samples->loaded_ms, rounds), 0, "ms",
                  "of the first: until the messages are loaded");
    report_figure(report, "open_ms", stats_median(samples->open_ms, rounds), 0, "ms",
                  "  opening and checking the database, alone");
    report_figure(report, "read_ms", stats_median(samples->read_ms, rounds), 0, "ms",
                  "  reading all rows with their checksums, alone");
    report_figure(report, "insert_ms", stats_median(samples->insert_ms, rounds), 0, "ms",
                  "  putting them into the index, alone");
    report_end(report);
}

int bench_start(const struct bench_options *options, struct report *report)
{
    static struct samples samples;
    const uint32_t rounds = bench_or(options->rounds, ROUNDS);
    char path[CHILD_PATH_BYTES + 32];
    struct child_directory directory;
    struct frames frames = {0};

    if (child_directory_make(&directory, options->dir) != 0) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/data/messages.db", directory.path);
    int rc = frames_make_deposits(&frames, SEED, bench_or(options->count, COUNT));
    if (rc == 0) {
        rc = fill(options, directory.path, &frames, &samples.empty_ms);
    }
    for (uint32_t round = 0; round < rounds && rc == 0; round++) {
        rc = run_round(options, directory.path, path, frames.count, &samples, round);
    }
    if (rc == 0) {
        tell(report, &samples, rounds, frames.count);
    }
    frames_deinit(&frames);
    child_directory_remove(&directory);
    return rc;
}
