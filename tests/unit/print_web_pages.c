/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes every page of hearsay-web in every language as files, with the style sheet beside them,
 * to look at.
 *
 * usage: print_web_pages DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>

#include "client/web/statics.h"
#include "tests/unit/web_pages.h"

enum { PATH_BYTES = 512 };

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static void write_page(const char *directory, const struct web_pages_sample *sample,
                       const struct web_pages_values *values, const char *tag, const char *suffix)
{
    char path[PATH_BYTES];
    struct view view;
    struct page page = web_pages_page(values, lang_find(tag), &view);
    struct html html;

    page.statics = "";
    html_init(&html);
    sample->write(&html, &page, values);
    (void)snprintf(path, sizeof(path), "%s/%s-%s%s.html", directory, sample->name, tag, suffix);
    write_file(path, html.bytes, html.count);
    html_deinit(&html);
}

/* Texts that are as long and as awkward as they may be. */
static struct web_pages_values long_values(void)
{
    static char words[2100];
    static char unbroken[2100];
    struct web_pages_values values = web_pages_plain;

    for (size_t i = 0; i + 12 < sizeof(words); i += 11) {
        (void)snprintf(words + i, 12, "many words ");
    }
    memset(unbroken, 'W', 800);
    values.messages[0] = words;
    values.messages[1] = unbroken;
    values.notices[0] = unbroken + 300; /* 500 bytes */
    values.messages[2] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14";
    values.messages[3] = "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81 tower";
    values.topics[0] = "Donaudampfschifffahrtsgesellschaftskapitaensmuetzenabzeichen";
    values.title = "Gemeindezentrum und Stadtteilbibliothek an der Rheinbruecke";
    values.typed = words;
    values.ssid = "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW";
    values.name = "hearsay.a-rather-long-name-of-a-place.home.arpa";
    return values;
}

int main(int argc, char **argv)
{
    struct web_pages_values values = long_values();
    char path[PATH_BYTES];

    if (argc != 2) {
        (void)fprintf(stderr, "usage: print_web_pages DIRECTORY\n");
        return 2;
    }
    for (size_t i = 0; i < web_pages_sample_count; i++) {
        for (size_t l = 0; l < lang_count(); l++) {
            write_page(argv[1], &web_pages_samples[i], &web_pages_plain, lang_tag(lang_at(l)), "");
        }
        write_page(argv[1], &web_pages_samples[i], &values, "de", "-long");
    }
    for (size_t i = 0; i < statics_table_count; i++) {
        const struct statics_file *file = &statics_table[i];

        (void)snprintf(path, sizeof(path), "%s/%s", argv[1], file->name);
        write_file(path, file->bytes, file->count);
    }
    return 0;
}
