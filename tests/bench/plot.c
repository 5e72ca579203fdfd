/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/plot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/bench.h"

extern char **environ;

enum {
    PATH_BYTES = 4096,
    NOT_STARTED = 127 /* the exit status with which a system (also QEMU) reports that it could not
                         start the program */
};

int plot_make_directory(const char *directory)
{
    struct stat about;

    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        return bench_fail("cannot make %s: %s", directory, strerror(errno));
    }
    if (stat(directory, &about) != 0 || !S_ISDIR(about.st_mode)) {
        return bench_fail("%s is not a directory", directory);
    }
    return 0;
}

static int fail_to_start(int error)
{
    return bench_fail(error == ENOENT
                          ? "--plot needs gnuplot, which is not installed (Debian: gnuplot-nox)"
                          : "cannot run gnuplot: %s",
                      strerror(error));
}

int plot_run(const char *directory, const char *argument)
{
    char *arguments[] = {(char *)"gnuplot", (char *)argument, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = 0;

    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0) {
        return bench_fail("gnuplot: %s", strerror(rc));
    }
    rc = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (rc == 0) {
        rc = posix_spawn_file_actions_addchdir_np(&actions, directory);
    }
    if (rc == 0) {
        rc = posix_spawnp(&pid, "gnuplot", &actions, NULL, arguments, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
    if (rc != 0) {
        return fail_to_start(rc);
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return bench_fail("gnuplot: %s", strerror(errno));
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED) {
        return fail_to_start(ENOENT);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : bench_fail("gnuplot failed with %s in %s", argument, directory);
}

int plot_prepare(const char *directory)
{
    return plot_make_directory(directory) == 0 ? plot_run(directory, "--version") : -1;
}

void plot_add(struct plot *plot, const char *series, double x, double y)
{
    size_t i = 0;

    while (i < plot->series_count && strcmp(plot->series[i].name, series) != 0) {
        i++;
    }
    assert(i < PLOT_SERIES_MAX);
    struct plot_series *found = &plot->series[i];
    if (i == plot->series_count) {
        plot->series_count++;
        snprintf(found->name, sizeof(found->name), "%s", series);
    }
    assert(found->count < PLOT_POINTS_MAX);
    found->x[found->count] = x;
    found->y[found->count] = y;
    found->count++;
}

/*
 * Writes a text in gnuplot's single quotes. Inside them, only the quote and the end of a line have
 * a meaning.
 */
static void put_text(FILE *file, const char *text)
{
    (void)fputc('\'', file);
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)fputc('\'', file);
        }
        (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
    (void)fputc('\'', file);
}

static void put_settings(FILE *file, const struct plot *plot)
{
    fprintf(file, "set title ");
    put_text(file, plot->title);
    fprintf(file, " noenhanced\nset xlabel ");
    put_text(file, plot->x_label);
    fprintf(file, " noenhanced\nset ylabel ");
    put_text(file, plot->y_label);
    fprintf(file,
            " noenhanced\nset logscale x\nset format x '10^{%%L}'\nset grid\n"
            "set key below noenhanced\n%s",
            plot->log_y ? "set logscale y\n" : "set yrange [0:*]\n");
}

static void put_data(FILE *file, const struct plot *plot)
{
    for (size_t s = 0; s < plot->series_count; s++) {
        fprintf(file, "$series%zu << end\n", s);
        for (size_t i = 0; i < plot->series[s].count; i++) {
            fprintf(file, "%.0f %.9g\n", plot->series[s].x[i], plot->series[s].y[i]);
        }
        fprintf(file, "end\n");
    }
}

static void put_picture(FILE *file, const struct plot *plot, const char *terminal, const char *name,
                        const char *ending)
{
    fprintf(file, "set terminal %s\nset output ", terminal);
    char output[PATH_BYTES];
    snprintf(output, sizeof(output), "%s.%s", name, ending);
    put_text(file, output);
    fprintf(file, "\nplot ");
    for (size_t s = 0; s < plot->series_count; s++) {
        fprintf(file, "%s$series%zu using 1:2 with linespoints linewidth 2 title ",
                s == 0 ? "" : ", \\\n     ", s);
        put_text(file, plot->series[s].name);
    }
    fprintf(file, "\nunset output\n");
}

int plot_draw(const struct plot *plot, const char *directory, const char *name)
{
    char path[PATH_BYTES];
    char script[PATH_BYTES];

    snprintf(script, sizeof(script), "%s.gp", name);
    if (snprintf(path, sizeof(path), "%s/%s", directory, script) >= (int)sizeof(path)) {
        return bench_fail("the name of %s is too long", directory);
    }
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return bench_fail("cannot write %s: %s", path, strerror(errno));
    }
    fprintf(file, "# drawn by hearsay-bench; again: gnuplot %s\n", script);
    put_settings(file, plot);
    put_data(file, plot);
    put_picture(file, plot, "svg size 720,480 dynamic", name, "svg");
    put_picture(file, plot, "pngcairo size 720,480", name, "png");
    const bool written = ferror(file) == 0;
    if (fclose(file) != 0 || !written) {
        return bench_fail("cannot write %s", path);
    }
    return plot_run(directory, script);
}
