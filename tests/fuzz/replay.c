/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay: runs a fuzz target over files, or over all files of directories, in order of their names.
 * This is how the corpus is an ordinary test, with any compiler.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

enum { FILE_BYTES_MAX = 1024 * 1024, PATH_BYTES = 4096 };

static size_t count;

static void run_file(const char *path)
{
    uint8_t *data = malloc(FILE_BYTES_MAX);
    FILE *file = fopen(path, "rb");
    size_t bytes;

    if (data == NULL || file == NULL) {
        perror(path);
        exit(2);
    }
    bytes = fread(data, 1, FILE_BYTES_MAX, file);
    (void)fclose(file); /* it was only read */
    /* Said before, so that a crash has a name. */
    printf("%s: %zu bytes\n", path, bytes);
    (void)fflush(stdout);
    uint8_t *exact = fuzz_copy(data, bytes);
    free(data);
    (void)LLVMFuzzerTestOneInput(exact, bytes);
    free(exact);
    count++;
}

static void run_directory(const char *path)
{
    struct dirent **entries;
    char name[PATH_BYTES];
    int entry_count = scandir(path, &entries, NULL, alphasort);

    if (entry_count < 0) {
        perror(path);
        exit(2);
    }
    for (int i = 0; i < entry_count; i++) {
        if (entries[i]->d_name[0] != '.') {
            (void)snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
            run_file(name);
        }
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat info;

        if (stat(argv[i], &info) != 0) {
            perror(argv[i]);
            return 2;
        }
        if (S_ISDIR(info.st_mode)) {
            run_directory(argv[i]);
        } else {
            run_file(argv[i]);
        }
    }
    printf("%zu inputs\n", count);
    return count > 0 ? 0 : 2; /* a corpus that is not there proves nothing */
}
