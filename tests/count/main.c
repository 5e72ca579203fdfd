/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay-count: one fixed work, to be counted by callgrind.
 *
 * usage: hearsay-count about                     what this program was built with, and its works
 *        hearsay-count WORK DIRECTORY [DATA]     DIRECTORY is empty; DATA has UJIIndoorLoc
 *        hearsay-count ask-query PORT COUNT      COUNT queries to 127.0.0.1:PORT
 *        hearsay-count ask-deposit PORT COUNT    COUNT deposits
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/count/count.h"

static const struct {
    const char *name;
    void (*run)(const struct count_options *options);
} works[] = {
    {"query-campus", count_query_campus},
    {"query-town", count_query_town},
    {"query-wifi", count_query_wifi},
    {"query-x5", count_query_x5},
    {"query-dense", count_query_dense},
    {"query-mixed", count_query_mixed},
    {"query-board", count_query_board},
    {"deposit", count_deposit},
    {"start", count_start},
#ifdef COUNT_HAS_WEB
    {"page", count_page},
#endif
    {"summary", count_summary},
};

enum { WORKS = sizeof(works) / sizeof(works[0]) };

/* The counts hold for one compiler with one set of flags. COUNT_FLAGS is what meson was told. */
static void print_about(void)
{
#if defined(__clang__)
    printf("compiler clang %d\n", __clang_major__);
#else
    printf("compiler gcc %d\n", __GNUC__);
#endif
#if defined(__x86_64__)
    printf("processor x86-64\n");
#else
    printf("processor other\n");
#endif
    printf("flags %s\n", COUNT_FLAGS);
    printf("measures %d\n", count_can_measure());
    for (size_t i = 0; i < WORKS; i++) {
        printf("work %s\n", works[i].name);
    }
}

static int print_usage(void)
{
    fprintf(stderr, "usage: hearsay-count about | WORK DIRECTORY [DATA] | ask-query PORT COUNT | "
                    "ask-deposit PORT COUNT\n");
    return 2;
}

/* Returns whether the text is a whole number from 1 to `most`. */
static int parse_number(const char *text, unsigned long most, unsigned long *out)
{
    char *end = NULL;

    *out = strtoul(text, &end, 10);
    return *text != '\0' && *end == '\0' && *out >= 1 && *out <= most;
}

static int run_client(char **argv)
{
    unsigned long port = 0;
    unsigned long count = 0;

    if (!parse_number(argv[2], UINT16_MAX, &port) || !parse_number(argv[3], UINT32_MAX, &count)) {
        count_fail("PORT and COUNT are whole numbers from 1 on");
    }
    if (strcmp(argv[1], "ask-query") == 0) {
        count_ask_queries((uint16_t)port, (uint32_t)count);
    } else if (strcmp(argv[1], "ask-deposit") == 0) {
        count_ask_deposits((uint16_t)port, (uint32_t)count);
    } else {
        return print_usage();
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "about") == 0) {
        print_about();
        return 0;
    }
    if (argc == 4 && strncmp(argv[1], "ask-", 4) == 0) {
        return run_client(argv);
    }
    for (size_t i = 0; i < WORKS && argc >= 3; i++) {
        if (strcmp(argv[1], works[i].name) == 0) {
            struct count_options options = {.directory = argv[2],
                                            .data = argc > 3 ? argv[3] : NULL};

            works[i].run(&options);
            return 0;
        }
    }
    return print_usage();
}
