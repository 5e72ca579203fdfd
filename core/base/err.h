/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err: error codes, and the rules for functions that return an error code or an outcome as an int:
 *   0         success.
 *   negative  -ERR_..., an error from the table below. The caller usually returns the error to its
 *             own caller unchanged.
 *   positive  an outcome of this function alone (NOT_FOUND, MORE, ...). The direct caller handles
 *             the outcome and does not return it to its own caller.
 * A function writes its outputs on success only, unless its comment says otherwise.
 */
#pragma once

/* Name, number, text for people. The number of a removed error is not given to a new one. */
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
 * Returns the text of an error. `code` is -ERR_... or ERR_...; any other number gives "unknown
 * error". The text is never NULL and has static storage.
 */
const char *err_text(int code);
