/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/files.h"

#include "tests/lib/check.h"

struct files_bytes files_read(const char *path)
{
    struct files_bytes bytes = {.data = malloc(FILES_BYTES_MAX)};
    FILE *file = fopen(path, "rb");

    assert_non_null(bytes.data);
    if (file != NULL) {
        bytes.count = fread(bytes.data, 1, FILES_BYTES_MAX, file);
        assert_true(bytes.count < FILES_BYTES_MAX);
        (void)fclose(file); /* it was only read */
    }
    return bytes;
}

void files_write(const char *path, const void *data, size_t count)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}
