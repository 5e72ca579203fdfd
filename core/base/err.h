/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err: the errors that a function cannot handle where they happen.
 *
 * The rule of the whole code base: a function that can fail returns an int.
 *   0         done.
 *   negative  -ERR_..., from the table below: pass it up unchanged.
 *   positive  an outcome named by that one function (NOT_FOUND, MORE, ...): its direct caller
 *             handles it and never forwards it.
 * Outputs are written only on success, unless a function's comment says otherwise.
 */
#ifndef CORE_BASE_ERR_H
#define CORE_BASE_ERR_H

/* Name, number, text for people. Numbers are never reused. */
#define ERR_TABLE(X)                                           \
    X(ERR_NOMEM, 1, "out of memory")                           \
    X(ERR_BUDGET, 2, "memory budget used up")                  \
    X(ERR_SYSTEM, 3, "the operating system refused a request") \
    X(ERR_STORAGE, 4, "the storage failed or is full")         \
    X(ERR_DAMAGED, 5, "stored data is damaged")                \
    X(ERR_VERSION, 6, "stored data is from a newer version")

enum err {
#define ERR_ENUM(name, number, text) name = number,
    ERR_TABLE(ERR_ENUM)
#undef ERR_ENUM
};

/*
 * The text for a negative return value or its absolute value. Never NULL: a number that is not in
 * the table gives "unknown error". Static storage, not to be freed.
 */
const char *err_text(int code);

#endif
