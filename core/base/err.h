/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err: error codes.
 *
 * The rule of the whole code base: a function that can fail returns an int.
 *   0         success.
 *   negative  -ERR_..., an error from the table below. The caller passes it up unchanged.
 *   positive  an outcome that this one function names (NOT_FOUND, MORE, ...). Its direct caller
 *             handles it and does not pass it up.
 * A function writes its outputs on success only, unless its comment says otherwise.
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
 * The text of an error. code: -ERR_... or ERR_...; a number that is not in the table gives "unknown
 * error". Never NULL. Static storage, do not free it.
 */
const char *err_text(int code);

#endif
