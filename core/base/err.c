/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/err.h"

const char *err_text(int code)
{
    /* Compared by number, not negated: INT_MIN has no absolute value. */
    switch (code) {
#define ERR_CASE(name, number, text) \
    case (number):                   \
    case -(number):                  \
        return text;
        ERR_TABLE(ERR_CASE)
#undef ERR_CASE
    default:
        return "unknown error";
    }
}
