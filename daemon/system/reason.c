/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/reason.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/err.h"

int reason_set(char *out_reason, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(out_reason, REASON_BYTES, format, arguments);
    va_end(arguments);
    return -ERR_SYSTEM;
}
