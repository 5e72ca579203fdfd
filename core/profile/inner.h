/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner: functions that only the files of core/profile share. The print functions write no NUL and
 * return the address after the text.
 */
#pragma once

#include "core/profile/profile.h"

char *profile_print_text(char *out, const char *text);
char *profile_print_number(char *out, uint32_t value);

bool profile_names_equal(const struct profile_name *a, const struct profile_name *b);
bool profile_name_is(const struct profile_name *name, const char *text);

/*
 * Returns the section that labels of an attribute go to, or NULL if there is none. The attribute
 * has `length` bytes at `name`. The profile must not have a section PROFILE_ALL.
 */
const struct profile_section *profile_section_named(const struct profile *profile, const char *name,
                                                    size_t length);
