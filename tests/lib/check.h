/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: includes cmocka, the headers that cmocka needs before it, and the C headers that most
 * tests use. TEST defines a test and also registers it, so a test program needs no list of its
 * tests. It needs its own main only if something must be set up before the tests.
 */
#pragma once

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

struct check_test {
    struct CMUnitTest test;
    const char *file;
    int line;
    struct check_test *next;
};

/* Before main, by TEST. The test stays the caller's, and lives as long as the program. */
void check_add(struct check_test *test);

/*
 * Runs all tests of the program in the order of their lines; those that match HEARSAY_TEST in the
 * environment, if it is there. Each of set_up and tear_down is for all of them, and may be NULL.
 * How many failed.
 */
int check_run(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* A test: `TEST(a_name) { ... }`. */
#define TEST(name) TEST_ON(name, NULL, NULL, NULL)

/* With what is to be done before and after; either may be NULL. What set_up leaves is in *state. */
#define TEST_WITH(name, set_up, tear_down) TEST_ON(name, set_up, tear_down, NULL)

/* The same; set_up finds `initial` in *state. */
#define TEST_ON(name, set_up, tear_down, initial)      \
    TEST_AGAIN(name, name, set_up, tear_down, initial) \
    static void name(__attribute__((unused)) void **state)

/* What set_up leaves is the parameter of the test: `struct fixture *fixture`. */
#define TEST_OF(name, parameter, set_up, tear_down) \
    static void name##_of(parameter);               \
    TEST_WITH(name, set_up, tear_down)              \
    {                                               \
        name##_of(*state);                          \
    }                                               \
    static void name##_of(__attribute__((unused)) parameter)

/* Registers the test `name` once more, as `title`, with another environment. */
#define TEST_AGAIN(title, name, set_up, tear_down, initial)                        \
    static void name(void **state);                                                \
    __attribute__((constructor)) static void title##_add(void)                     \
    {                                                                              \
        static struct check_test self = {                                          \
            {#title, name, set_up, tear_down, initial}, __FILE__, __LINE__, NULL}; \
        check_add(&self);                                                          \
    }
