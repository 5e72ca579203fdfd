/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that a person wrote: which are as clients write them, and what is said of the others. */
#include "core/base/label_form.h"

#include "core/base/label.h"
#include "tests/lib/check.h"

static const struct {
    const char *label;
    const char *sentence; /* NULL: right */
} rows[] = {
    {"wifi:a4:2b:8c:01:02:03", NULL},
    {"wifi:a4:2b:8c:01:02:03@2", NULL},
    {"wifi:a4:2b:8c:01:02:03@12", NULL},
    {"geo:u281zd", NULL},
    {"geo:u281zjrk", NULL},
    {"time:2026-11-20T14", NULL},
    {"time:w5T14", NULL},
    {"topic:rock 'n' roll: live", NULL},
    {"topic:caf\xc3\xa9", NULL},
    {"place:Bar", NULL},
    {"abc:Wifi:A ", NULL},
    {"abc:x y:z", NULL},
    {"place:wifi:a", NULL},
    {"wifi:A4:2B:8C:01:02:03", "clients write wifi:a4:2b:8c:01:02:03"},
    {"wifi:A4-2B-8C-01-02-03", "clients write wifi:a4:2b:8c:01:02:03"},
    {"wifi:a42b8c010203@3", "clients write wifi:a4:2b:8c:01:02:03@3"},
    {"geo:U281ZA", "clients write a geohash of 6 to 8 characters, as in geo:u281zd"},
    {"geo:U281ZD", "clients write geo:u281zd"},
    {"geo:u281z", "clients write a geohash of 6 to 8 characters, as in geo:u281zd"},
    {"geo:u281zd ", "clients write a geohash of 6 to 8 characters, as in geo:u281zd"},
    {"time:2026-11-20t14", "clients write an hour in UTC, as in time:2026-11-20T14 or time:w5T14"},
    {"topic:Coffee", "clients write topic:coffee"},
    {"topic:#tea", "clients write topic:tea"},
    {"topic: \t a  B ", "clients write topic:a b"},
    {"topic:Caf\xc3\xa9", "clients write topics in lower case; `hearsay context --topic TEXT` "
                          "prints the label"},
    {"topic:#", "clients write topics in lower case; `hearsay context --topic TEXT` prints the "
                "label"},
    {"geo:u281zd wifi:a4:2b:8c:01:02:03",
     "`wifi:` begins a second label: write a comma between labels, and in a `here_file` each on a "
     "line of its own"},
    {"topic:a, place:b",
     "`place:` begins a second label: write a comma between labels, and in a `here_file` each on "
     "a line of its own"},
    {"nolabel", "the label has no ':'; a label is attribute:value"},
};

TEST(labels_are_as_clients_write_them)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char sentence[LABEL_FORM_SENTENCE_BYTES] = "";
        int rc = label_form_check(rows[i].label, strlen(rows[i].label), sentence);

        assert_string_equal(sentence, rows[i].sentence != NULL ? rows[i].sentence : "");
        assert_int_equal(rc, rows[i].sentence != NULL ? LABEL_REFUSED : 0);
    }
}

/* None of these is an access point's address, or a level that a strength has. */
TEST(addresses_have_six_bytes)
{
    static const char *const labels[] = {
        "wifi:a",
        "wifi:a4:2b:8c:01:02",
        "wifi:a4:2b:8c:01:02:03:04",
        "wifi:a4:2b-8c:01:02:03",
        "wifi:a4.2b.8c.01.02.03",
        "wifi:g4:2b:8c:01:02:03",
        "wifi:a4:2b:8c:01:02:0",
        "wifi:a4:2b:8c:01:02:03@",
        "wifi:a4:2b:8c:01:02:03@1",
        "wifi:a4:2b:8c:01:02:03@02",
        "wifi:a4:2b:8c:01:02:03@13",
        "wifi:@",
    };

    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        char sentence[LABEL_FORM_SENTENCE_BYTES] = "";

        assert_int_equal(label_form_check(labels[i], strlen(labels[i]), sentence), LABEL_REFUSED);
        assert_memory_equal(sentence, "clients write the six bytes of an address, as in ", 49);
    }
}

/* The longest labels fit, with what is said of them. */
TEST(long_labels_fit)
{
    char label[LABEL_BYTES_MAX];
    char sentence[LABEL_FORM_SENTENCE_BYTES];

    memset(label, 'A', sizeof(label));
    memcpy(label, "topic:", 6);
    assert_int_equal(label_form_check(label, sizeof(label), sentence), LABEL_REFUSED);
    assert_int_equal(strlen(sentence), strlen("clients write ") + sizeof(label));
    memset(label, '@', sizeof(label));
    memcpy(label, "wifi:a42b8c010203", 17);
    assert_int_equal(label_form_check(label, sizeof(label), sentence), LABEL_REFUSED);
}
