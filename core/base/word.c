/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/word.h"

#include <string.h>

#include "core/base/least.h"

size_t word_distance(const char *a, const char *b)
{
    /*
     * Three rows of the table of edit distances: the row of the current letter of `a`, and the rows
     * of the two letters before this letter.
     */
    enum { LETTERS = 64 };
    size_t rows[3][LETTERS + 1];
    size_t a_length = least_size(strlen(a), LETTERS);
    size_t b_length = least_size(strlen(b), LETTERS);

    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least_size(least_size(above[j], row[j - 1]) + 1,
                                above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least_size(row[j], rows[(i + 1) % 3][j - 2] + 1);
            }
        }
    }
    return rows[a_length % 3][b_length];
}
