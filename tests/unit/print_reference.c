/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_reference: the reference of all configuration keys, for scripts/update-reference. hearsayd
 * prints the same with --print-reference; this one needs nothing but the table.
 */
#include "daemon/config/config.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const struct {
        const char *form;
        void (*print)(FILE *out);
    } forms[] = {{"markdown", config_print_markdown},
                 {"mdoc", config_print_mdoc},
                 {"example", config_print_example}};

    for (size_t i = 0; argc == 2 && i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(argv[1], forms[i].form) == 0) {
            forms[i].print(stdout);
            return fflush(stdout) == 0 ? 0 : 1;
        }
    }
    (void)fputs("usage: print_reference markdown|mdoc|example\n", stderr);
    return 2;
}
