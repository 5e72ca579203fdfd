/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which characters can be seen: a text has one at least, or it is refused. Each class of characters
 * without a glyph has a row, because each was once an empty card on the page.
 */
#include "core/base/character.h"

#include "tests/lib/check.h"

static const char *const blank_texts[] = {
    "",
    " ",
    " \t\r\n\v\f",
    "\x01\x1b\x7f",                                     /* controls */
    "\xc2\x80\xc2\x85\xc2\x9f",                         /* C1 controls */
    "\xc2\xa0",                                         /* U+00A0, no-break space */
    "\xe1\x9a\x80",                                     /* U+1680, Ogham space */
    "\xe2\x80\x80\xe2\x80\x83\xe2\x80\x8a",             /* U+2000 to U+200A, spaces */
    "\xe2\x80\xaf\xe2\x81\x9f\xe3\x80\x80",             /* U+202F, U+205F, U+3000 */
    "\xe2\x80\xa8\xe2\x80\xa9",                         /* ends of lines and paragraphs */
    "\xc2\xad",                                         /* U+00AD, soft hyphen */
    "\xe2\x80\x8b\xe2\x80\x8c\xe2\x80\x8d",             /* U+200B, zero width, joiners */
    "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",                 /* marks of direction */
    "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad", /* U+202A to U+202D */
    "\xe2\x80\xae",                                     /* a lone U+202E */
    "\xe2\x81\xa0\xe2\x81\xa1\xe2\x81\xa4",             /* word joiner, invisible times */
    "\xe2\x81\xa5\xef\xbf\xb0\xf3\xa0\x82\x80",         /* reserved, default-ignorable */
    "\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa\xe2\x81\xaf", /* isolates, U+206A, U+206F */
    "\xef\xbb\xbf",                                     /* byte order mark */
    "\xef\xbf\xb9\xef\xbf\xba\xef\xbf\xbb",             /* interlinear annotation */
    "\xef\xbf\xbc",                                     /* an object that is not there */
    "\xe1\x85\x9f\xe1\x85\xa0",                         /* Hangul fillers of jamo */
    "\xe3\x85\xa4",                                     /* U+3164, Hangul filler */
    "\xef\xbe\xa0",                                     /* U+FFA0, its half width */
    "\xe2\xa0\x80",                                     /* U+2800, blank of Braille */
    "\xe1\x9e\xb4\xe1\x9e\xb5",                         /* Khmer vowels without a glyph */
    "\xe1\xa0\x8b\xe1\xa0\x8e",                         /* Mongolian selector, separator */
    "\xcd\x8f",                                         /* U+034F, grapheme joiner */
    "\xcc\x81\xcc\x88",                                 /* marks alone: acute, diaeresis */
    "\xe2\x83\x9d",                                     /* an enclosing circle alone */
    "\xe0\xa4\xbe\xe0\xa4\x83",                         /* spacing marks alone */
    "\xe0\xb8\xb4\xd9\x8b",                             /* marks of Thai and Arabic */
    "\xef\xb8\x8f",                                     /* U+FE0F, variation selector */
    "\xf3\xa0\x84\x80\xf3\xa0\x87\xaf",                 /* U+E0100 to U+E01EF, the others */
    "\xf3\xa0\x80\x81\xf3\xa0\x81\xa1\xf3\xa0\x81\xbf", /* tags */
    "\xf0\x9b\xb2\xa0\xf0\x9d\x85\xb3",                 /* formats of shorthand, music */
    "\xf0\x9d\x85\x99",                                 /* a notehead without a glyph */
    "\xf0\x93\x91\x81",                                 /* Egyptian full blank */
    "\xef\xb7\x90\xef\xbf\xbe\xf4\x8f\xbf\xbf",         /* noncharacters */
    " \xe2\x80\x8b\xcc\x81\xe3\x85\xa4\xef\xb8\x8f\xe2\xa0\x80\n", /* of all kinds together */
};

static const char *const seen_texts[] = {
    "x",
    ".",
    " \n\t.",
    "\xe2\x80\x8b\xe2\x80\x8bx",
    "e\xcc\x81",
    "\xc3\xa9",
    "\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7",         /* Arabic */
    "\xd7\xa9\xd6\xb8\xd7\x9c\xd7\x95\xd7\x9d",         /* Hebrew with points */
    "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d", /* Hindi with marks */
    "\xe0\xb8\xa7\xe0\xb8\xb1\xe0\xb8\xaa",             /* Thai */
    "\xe4\xbd\xa0\xe5\xa5\xbd",                         /* Chinese */
    "\xe3\x81\x93\xe3\x82\x93",                         /* Japanese */
    "\xec\x95\x88",                                     /* Korean, a syllable */
    "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab",             /* Korean in jamo */
    "\xf0\x9f\x8d\xb0",                                 /* an emoji */
    "\xe2\x9d\xa4\xef\xb8\x8f",                         /* with a variation selector */
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac",     /* joined */
    "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd",                 /* with a colour of skin */
    "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa",                 /* a flag of letters */
    "\xf0\x9f\x8f\xb4\xf3\xa0\x81\xa7\xf3\xa0\x81\xa2\xf3\xa0\x81\xbf", /* a flag of tags */
    "1\xef\xb8\x8f\xe2\x83\xa3",                                        /* a keycap */
    "\xe2\xa0\x81",                                                     /* Braille with a dot */
    "\xdb\x9d\xd8\x80", /* formats of Arabic that are drawn */
    "\xef\xa3\xbf",     /* private use */
    "\xef\xbf\xbd",     /* U+FFFD */
    "\xcd\xb8",         /* U+0378, not assigned: a box */
    "\x80",
    "\xe2\x80",
    " \xff ", /* no UTF-8 */
};

TEST(test_blank)
{
    for (size_t i = 0; i < sizeof(blank_texts) / sizeof(blank_texts[0]); i++) {
        if (character_any_seen(blank_texts[i], strlen(blank_texts[i]))) {
            fail_msg("blank text %zu is seen", i);
        }
    }
    assert_false(character_any_seen("\0\0", 2));
}

TEST(test_seen)
{
    for (size_t i = 0; i < sizeof(seen_texts) / sizeof(seen_texts[0]); i++) {
        if (!character_any_seen(seen_texts[i], strlen(seen_texts[i]))) {
            fail_msg("text %zu cannot be seen", i);
        }
    }
    assert_false(character_any_seen("x", 0)); /* nothing behind the end is looked at */
    assert_true(character_any_seen("\0x", 2));
}

/* Each combining mark is blank, and the two ends of the range of numbers are in the table. */
TEST(test_table)
{
    uint32_t marks = 0;
    uint32_t blanks = 0;

    for (uint32_t character = 0; character < 0x110000; character++) {
        marks += character_is_combining(character);
        blanks += character_is_blank(character);
        assert_true(character_is_blank(character) || !character_is_combining(character));
    }
    assert_in_range(marks, 1900, 2100);
    assert_in_range(blanks, 6000, 7000); /* 3,600 of them are the tags and their reserve */
    assert_true(character_is_blank(0) && character_is_blank(0x10ffff));
    assert_false(character_is_blank(0x110000) || character_is_blank(UINT32_MAX));
}
