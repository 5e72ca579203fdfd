/* SPDX-License-Identifier: Apache-2.0 */
/* Options by table, and the numbers in them: exact, in range, or a sentence that says why not. */
#include "client/cli/term/args.h"
#include "client/cli/term/out.h"
#include "tests/lib/check.h"

struct options {
    bool flag;
    const char *text;
    struct args_list list;
    uint32_t number;
    uint64_t duration_ms;
    uint32_t distance;
    struct args_moment moment;
    int choice;
};

static const char *const choices[] = {"one", "two", NULL};

static const struct args_option table[] = {
    {.name = "flag",
     .letter = 'f',
     .kind = ARGS_FLAG,
     .offset = offsetof(struct options, flag),
     .help = "a flag"},
    {.name = "text",
     .kind = ARGS_TEXT,
     .offset = offsetof(struct options, text),
     .value = "TEXT",
     .help = "a text"},
    {.name = "list",
     .letter = 'l',
     .kind = ARGS_LIST,
     .offset = offsetof(struct options, list),
     .value = "ITEM",
     .help = "items"},
    {.name = "number",
     .letter = 'n',
     .kind = ARGS_NUMBER,
     .offset = offsetof(struct options, number),
     .value = "N",
     .min = 1,
     .max = 100,
     .help = "a number"},
    {.name = "duration",
     .kind = ARGS_DURATION,
     .offset = offsetof(struct options, duration_ms),
     .value = "TIME",
     .min = 1000,
     .max = 3600000,
     .help = "a duration"},
    {.name = "distance",
     .kind = ARGS_DISTANCE,
     .offset = offsetof(struct options, distance),
     .value = "D",
     .help = "a distance"},
    {.name = "moment",
     .kind = ARGS_MOMENT,
     .offset = offsetof(struct options, moment),
     .value = "TIME",
     .help = "a moment"},
    {.name = "choice",
     .kind = ARGS_CHOICE,
     .offset = offsetof(struct options, choice),
     .choices = choices,
     .help = "a choice"},
};

/* Parses words (ended by NULL) behind a command's name. */
static int parse(struct options *options, const char *const *words, int *out_first,
                 char sentence[ARGS_SENTENCE_BYTES])
{
    char *argv[20] = {(char *)"command"};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++) {
        argv[argc] = (char *)words[argc - 1]; /* getopt only reorders */
    }
    struct args_group group = {table, sizeof(table) / sizeof(table[0]), options};
    return args_parse(argc, argv, &group, 1, false, out_first, sentence);
}

static void free_list(struct options *options)
{
    struct args_group group = {table, sizeof(table) / sizeof(table[0]), options};
    args_free(&group);
}

/* Each kind lands in its field; words may stand between options. */
TEST(test_kinds)
{
    struct options options;
    memset(&options, 0, sizeof(options));
    char sentence[ARGS_SENTENCE_BYTES];
    int first = 0;
    const char *const words[] = {"-f",       "--text=hi", "-l",         "a",   "word",       "-lb",
                                 "-n",       "7",         "--duration", "90s", "--distance", "0.75",
                                 "--moment", "6h",        "--choice",   "two", NULL};
    assert_int_equal(parse(&options, words, &first, sentence), 0);
    assert_true(options.flag);
    assert_string_equal(options.text, "hi");
    assert_int_equal(options.list.count, 2);
    assert_string_equal(options.list.items[1], "b");
    assert_int_equal(options.number, 7);
    assert_int_equal(options.duration_ms, 90000);
    assert_int_equal(options.distance, 750000);
    assert_int_equal(options.moment.kind, ARGS_AGO);
    assert_int_equal(options.moment.ms, 6 * 3600000);
    assert_int_equal(options.choice, 1);
    assert_int_equal(first, 16); /* one word left */
    free_list(&options);
}

/* Every mistake is named, with the nearest option where there is one. */
TEST(test_mistakes)
{
    static const struct {
        const char *words[4];
        const char *said;
    } rows[] = {
        {{"--numbr", "3"}, "did you mean --number?"},
        {{"--flga"}, "did you mean --flag?"},
        {{"--zzzzzz"}, "there is no option --zzzzzz"},
        {{"-z"}, "there is no option -z"},
        {{"--number"}, "--number needs a value, N"},
        {{"-n"}, "--number needs a value, N"},
        {{"--flag=3"}, "--flag takes no value"},
        {{"--d", "1"}, "more than one option begins with --d"},
        {{"-n", "0"}, "a number from 1 to 100"},
        {{"-n", "101"}, "a number from 1 to 100"},
        {{"-n", "7x"}, "a number from 1 to 100"},
        {{"-n", "-7"}, "a number from 1 to 100"},
        {{"-n", "18446744073709551617"}, "a number from 1 to 100"},
        {{"--duration", "90"}, "a duration such as 90s"},
        {{"--duration", "10ms"}, "is not a duration from 1s to 1h"},
        {{"--duration", "2h"}, "is not a duration from 1s to 1h"},
        {{"--distance", "1.000001"}, "a decimal from 0 to 1"},
        {{"--moment", "yesterday"}, "a duration such as 6h or 2026-11-20T14:00Z"},
        {{"--choice", "three"}, "one of one, two"},
        {{"--text", ""}, "not a value"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct options options;
        memset(&options, 0, sizeof(options));
        char sentence[ARGS_SENTENCE_BYTES] = "";
        int first = 0;
        assert_int_equal(parse(&options, rows[i].words, &first, sentence), ARGS_WRONG);
        assert_non_null(strstr(sentence, rows[i].said));
        free_list(&options);
    }
}

TEST(test_nearest)
{
    static const char *const names[] = {"deposit", "query", "withdraw"};
    assert_string_equal(args_nearest("qeury", names, 3), "query");
    assert_string_equal(args_nearest("depo", names, 3), "deposit");
    assert_string_equal(args_nearest("withdrw", names, 3), "withdraw");
    assert_null(args_nearest("frobnicate", names, 3));
    static const char *const common[] = {"server", "version", "help"};
    assert_null(args_nearest("reason", common, 3)); /* three of its six letters would be wrong */
    assert_string_equal(args_nearest("sevrer", common, 3), "server");
    assert_string_equal(args_nearest("versoin", common, 3), "version");
    assert_null(args_nearest("", names, 3));
    char longest[200];
    memset(longest, 'q', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_null(args_nearest(longest, names, 3));
}

/* What is printed reads back, in the unit that people would choose. */
TEST(test_printed_durations)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } rows[] = {{0, "0ms"},           {250, "250ms"},
                {1500, "1500ms"},     {90000, "90s"},
                {900000, "15m"},      {7200000, "2h"},
                {86400000, "24h"},    {2592000000, "30d"},
                {86401000, "86401s"}, {3600000, "1h"},
                {60000, "1m"},        {90000000, "25h"},
                {172800000, "2d"},    {172800001, "172800001ms"}};
    char text[NUMBER_DURATION_BYTES];
    uint64_t ms = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        number_print_duration(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(number_parse_duration(text, &ms), 0);
        assert_int_equal(ms, rows[i].ms);
    }
    number_print_duration(UINT64_MAX, text); /* fits */
    assert_int_equal(number_parse_duration(text, &ms), 0);
    assert_true(ms == UINT64_MAX);
}

TEST(test_durations)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } rows[] = {{"1ms", 1},        {"90s", 90000},    {"15m", 900000}, {"2h", 7200000},
                {"3d", 259200000}, {"1w", 604800000}, {"0s", 0}};
    uint64_t ms = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(number_parse_duration(rows[i].text, &ms), 0);
        assert_int_equal(ms, rows[i].ms);
    }
    static const char *const bad[] = {"",
                                      "s",
                                      "1",
                                      "1.5h",
                                      "-1s",
                                      "+1s",
                                      " 1s",
                                      "1s ",
                                      "1h30m",
                                      "1H",
                                      "18446744073709551615w",
                                      "18446744073709551616ms"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(number_parse_duration(bad[i], &ms), NUMBER_REFUSED);
    }
}

/* All millionths are exact, as text and as JSON numbers. */
TEST(test_distances)
{
    uint32_t value = 0;
    static const struct {
        const char *text;
        uint32_t millionths;
    } rows[] = {{"0", 0},
                {"1", 1000000},
                {"0.75", 750000},
                {".5", 500000},
                {"1.000000", 1000000},
                {"0.000001", 1},
                {"0.1000000", 100000},
                {"0.", 0},
                {"00.5", 500000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(number_parse_distance(rows[i].text, &value), 0);
        assert_int_equal(value, rows[i].millionths);
    }
    static const char *const bad[] = {"",         ".",         "-0",   "2",
                                      "1.000001", "0.0000001", "0.5x", "0,5",
                                      "1e-3",     " 0",        "nan",  "18446744073709551617"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(number_parse_distance(bad[i], &value), NUMBER_REFUSED);
    }
    for (uint32_t i = 0; i <= 1000000; i += 7) {
        assert_int_equal(number_round_distance((double)i / 1000000, &value), 0);
        assert_int_equal(value, i);
    }
    assert_int_equal(number_round_distance(0.1234567, &value), NUMBER_REFUSED);
    assert_int_equal(number_round_distance(1.1, &value), NUMBER_REFUSED);
    assert_int_equal(number_round_distance(-0.1, &value), NUMBER_REFUSED);
}

TEST(test_hex)
{
    uint8_t bytes[2] = {0};
    assert_int_equal(number_parse_hex("00fF", bytes, 2), 0);
    assert_int_equal(bytes[1], 255);
    static const char *const bad[] = {"", "00f", "00ff0", "00fg", "0x00", "00 ff"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(number_parse_hex(bad[i], bytes, 2), NUMBER_REFUSED);
    }
}
