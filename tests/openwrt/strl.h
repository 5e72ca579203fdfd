/* SPDX-License-Identifier: Apache-2.0 */
/* strlcpy and strlcat for OpenWrt's programs, where the C library has none. */
#pragma once

#include <stdio.h>
#include <string.h>

#if defined(__GLIBC__) && (__GLIBC__ < 2 || __GLIBC_MINOR__ < 38)
static inline size_t strlcpy(char *out, const char *text, size_t room)
{
    return (size_t)snprintf(out, room, "%s", text);
}

static inline size_t strlcat(char *out, const char *text, size_t room)
{
    size_t used = strnlen(out, room);

    return used + strlcpy(out + used, text, room - used);
}
#endif
