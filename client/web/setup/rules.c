/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/web/setup/config.h"
#include "client/web/setup/table.h"
#include "core/base/label.h"
#include "daemon/settings/options.h"

/* Reads a file of rules into `out_rules`. */
static int rules_read(const struct settings_source *source, const char *file,
                      char out_rules[WEB_CONFIG_RULES_BYTES])
{
    char why[SETTINGS_REASON_BYTES];
    char *text = NULL;
    size_t length = 0;

    if (settings_read(file, &text, &length, why) != 0) {
        return settings_refuse(source, "`rules`: %s", why);
    }
    bool fits = length < WEB_CONFIG_RULES_BYTES && label_is_utf8(text, length);
    if (fits) {
        memset(out_rules, 0, WEB_CONFIG_RULES_BYTES);
        memcpy(out_rules, text, length);
    }
    free(text);
    return fits ? 0
                : settings_refuse(source, "`rules`: %s must be a text in UTF-8 of at most %d bytes",
                                  file, WEB_CONFIG_RULES_BYTES - 1);
}

/* The language of a file NAME.TAG.SUFFIX, and how many bytes stand before TAG. NULL: its name says
 * none. */
static const struct lang *rules_language(const char *file, size_t *out_before)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    const char *suffix = strrchr(name, '.');
    const char *dot = suffix;

    while (dot != NULL && dot > name && *--dot != '.') {
    }
    if (dot == NULL || *dot != '.') {
        return NULL;
    }
    for (size_t i = 0; i < lang_count(); i++) {
        const char *tag = lang_tag(lang_at(i));

        if (strlen(tag) == (size_t)(suffix - dot) - 1 && strncmp(tag, dot + 1, strlen(tag)) == 0) {
            *out_before = (size_t)(dot + 1 - file);
            return lang_at(i);
        }
    }
    return NULL;
}

int web_config_read_rules(struct web_config *config, char *out_reason)
{
    struct settings_source source =
        settings_config_source(&web_table, config, config->section, "rules", out_reason);
    char file[WEB_CONFIG_RULES_FILE_BYTES + WEB_CONFIG_TAG_BYTES];
    size_t before = 0;

    out_reason[0] = '\0';
    memset(config->rules_in, 0, sizeof(config->rules_in));
    config->rules_lang = NULL;
    if (config->rules_file[0] == '\0') {
        return 0;
    }
    int rc = rules_read(&source, config->rules_file, config->rules);
    config->rules_lang = rules_language(config->rules_file, &before);
    for (size_t i = 0;
         rc == 0 && config->rules_lang != NULL && i < lang_count() && i < WEB_CONFIG_LANGUAGES_MAX;
         i++) {
        (void)snprintf(file, sizeof(file), "%.*s%s%s", (int)before, config->rules_file,
                       lang_tag(lang_at(i)),
                       config->rules_file + before + strlen(lang_tag(config->rules_lang)));
        if (lang_at(i) != config->rules_lang && (access(file, F_OK) == 0 || errno != ENOENT)) {
            rc = rules_read(&source, file, config->rules_in[i]);
        }
    }
    return rc;
}

const char *web_config_rules(const struct web_config *config, const struct lang *lang,
                             const struct lang **out_lang)
{
    for (size_t i = 0; i < lang_count() && i < WEB_CONFIG_LANGUAGES_MAX; i++) {
        if (lang_at(i) == lang && config->rules_in[i][0] != '\0') {
            *out_lang = lang;
            return config->rules_in[i];
        }
    }
    *out_lang = config->rules_lang;
    return config->rules;
}
