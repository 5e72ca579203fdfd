/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"

static int read_whole(FILE *file, char **out_text, size_t *out_length)
{
    size_t room = 0;

    *out_length = 0;
    do {
        if (*out_length + 1 >= room) {
            room = room == 0 ? 65536 : room * 2;
            char *larger = realloc(*out_text, room);
            if (larger == NULL) {
                return -1;
            }
            *out_text = larger;
        }
        *out_length += fread(*out_text + *out_length, 1, room - 1 - *out_length, file);
    } while (feof(file) == 0 && ferror(file) == 0);
    (*out_text)[*out_length] = '\0';
    return ferror(file) == 0 ? 0 : -1;
}

static int split(struct wordlist *list, size_t length)
{
    size_t lines = 1;

    for (size_t i = 0; i < length; i++) {
        lines += list->text[i] == '\n';
    }
    list->lines = calloc(lines, sizeof(*list->lines));
    if (list->lines == NULL) {
        return -1;
    }
    for (char *line = strtok(list->text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        list->lines[list->count++] = line;
    }
    return list->count > 0 ? 0 : -1;
}

int wordlist_read(const char *path, struct wordlist *out)
{
    FILE *file = fopen(path, "rb");
    size_t length = 0;

    memset(out, 0, sizeof(*out));
    if (file == NULL) {
        return bench_fail("cannot read %s: %s", path, strerror(errno));
    }
    int rc = read_whole(file, &out->text, &length);
    (void)fclose(file); /* it was only read */
    if (rc == 0) {
        out->checksum = hash_seeded(out->text, length, 0);
        rc = split(out, length);
    }
    return rc == 0 ? 0 : bench_fail("%s has no words, or memory is short", path);
}

void wordlist_deinit(struct wordlist *list)
{
    free(list->lines);
    free(list->text);
    memset(list, 0, sizeof(*list));
}
