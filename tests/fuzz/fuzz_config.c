/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration: what is taken, printed and read again is the same configuration; what is refused
 * names the file and a line that is there.
 */
#include "daemon/config/options.h"
#include "tests/fuzz/fuzz.h"

static const char name[] = "a.conf";

static void check_refusal(const char *reason, const char *text, size_t size)
{
    unsigned long line = 0;
    size_t lines = 1;

    FUZZ_CHECK(strncmp(reason, name, sizeof(name) - 1) == 0 && reason[sizeof(name) - 1] == ':');
    FUZZ_CHECK(memchr(reason, '\0', CONFIG_REASON_BYTES) != NULL);
    if (sscanf(reason + sizeof(name), "%lu:", &line) == 1) {
        for (size_t i = 0; i < size; i++) {
            lines += text[i] == '\n';
        }
        FUZZ_CHECK(line >= 1 && line <= lines);
    }
}

static char *print(const struct config *config, size_t *out_size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_size);

    FUZZ_CHECK(out != NULL);
    config_print(config, out);
    FUZZ_CHECK(fclose(out) == 0);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config config;
    static struct config again;
    char reason[CONFIG_REASON_BYTES] = "";
    char *text = (char *)fuzz_copy(data, size);
    int rc = settings_config_parse(&options_program, text, size, name, &config, reason);

    if (rc == 0) {
        rc = config_finish(&config, reason);
    }
    if (rc == 0) {
        size_t printed_size = 0;
        size_t again_size = 0;
        char *printed = print(&config, &printed_size);

        if (settings_config_parse(&options_program, printed, printed_size, name, &again, reason) !=
                0 ||
            config_finish(&again, reason) != 0) {
            (void)fprintf(stderr, "%s\n%s", reason, printed);
            fuzz_fail(__FILE__, __LINE__, "what was printed is taken");
        }
        char *printed_again = print(&again, &again_size);
        FUZZ_CHECK(printed_size == again_size && memcmp(printed, printed_again, again_size) == 0);
        FUZZ_CHECK(config_check_reload(&config, &again, reason) == 0);
        free(printed);
        free(printed_again);
    } else {
        FUZZ_CHECK(rc == CONFIG_REFUSED);
        check_refusal(reason, text, size);
    }
    free(text);
    return 0;
}
