/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner: functions that only the files of this folder share. The print functions return the end of
 * the text that they wrote; they write no NUL.
 */
#ifndef CORE_PROFILE_INNER_H
#define CORE_PROFILE_INNER_H

#include "core/profile/profile.h"

char *profile_print_text(char *out, const char *text);
char *profile_print_number(char *out, uint32_t value);

bool profile_names_equal(const struct profile_name *a, const struct profile_name *b);
bool profile_name_is(const struct profile_name *name, const char *text);

/* The section that labels of an attribute go to, or NULL if there is none. The profile has no
 * section PROFILE_ALL. `name` has `length` bytes. */
const struct profile_section *profile_section_named(const struct profile *profile, const char *name,
                                                    size_t length);

/* Writes the fields that follow from the sections. Those fields are zero before. */
void profile_derive(struct profile *profile);

#endif
