/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/err.h"

const char *err_text(int code)
{
    /*
     * Each error has a case for its positive and for its negative number. The function does not
     * negate `code`, because -INT_MIN overflows.
     */
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
