/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: cmocka, with what it wants to be included before it.
 */
#ifndef TESTS_LIB_CHECK_H
#define TESTS_LIB_CHECK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
