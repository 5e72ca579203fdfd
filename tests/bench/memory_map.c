/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/memory_map.h"

#include <errno.h>
#include <string.h>

#include "tests/bench/bench.h"

enum { LINE_BYTES = 8192 };

/*
 * Returns the sum that a mapping belongs to, by the mapping's line in smaps: range, rights, offset,
 * device, inode, name.
 */
static double *kind_of(struct memory_map *map, const char *line)
{
    const char *name = strpbrk(line, "/[");

    if (name == NULL) {
        return &map->anonymous;
    }
    if (strncmp(name, "[heap]", 6) == 0) {
        return &map->heap;
    }
    if (strncmp(name, "[stack", 6) == 0) {
        return &map->stack;
    }
    if (name[0] == '[') {
        return &map->anonymous;
    }
    return strstr(name, "-shm") != NULL ? &map->shared : &map->files;
}

int memory_map_read(pid_t pid, struct memory_map *out)
{
    char line[LINE_BYTES];
    double *kind = &out->anonymous;

    snprintf(line, sizeof(line), "/proc/%ld/smaps", (long)pid);
    FILE *file = fopen(line, "r");
    if (file == NULL) {
        return bench_fail("%s: %s", line, strerror(errno));
    }
    *out = (struct memory_map){0};
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned long kilobytes = 0;
        if (sscanf(line, "Rss: %lu kB", &kilobytes) == 1) {
            *kind += (double)kilobytes * 1024;
            out->total += (double)kilobytes * 1024;
        } else if (strspn(line, "0123456789abcdef") > 0 &&
                   line[strspn(line, "0123456789abcdef")] == '-') {
            kind = kind_of(out, line);
        }
    }
    (void)fclose(file);
    return 0;
}
