/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geohash: converts positions to labels of geohashes. A cell includes its southern and its western
 * edge. The edge at 90 degrees north belongs to the northernmost cells, and the edge at 180 degrees
 * east to the easternmost cells. A geohash of L characters has 5 L bits, alternately of longitude
 * and latitude, longitude first: ceil(5L/2) bits of longitude and floor(5L/2) bits of latitude.
 */
#include <stdio.h>

#include "client/context/build.h"
#include "client/fail.h"
#include "core/base/label.h"

/* Bits of longitude and of latitude that are computed: those of the finest cell. */
enum { HALVINGS = 5 * CONTEXT_GEOHASH_FINE / 2 };

/*
 * Computes the first HALVINGS bits of the position of `value` in [low, high], by halving the
 * interval. For 360 and 180 degrees the halves are exact in a double, so all machines compute the
 * same bits. The first bits alone are those of a coarser cell.
 */
static uint32_t geohash_halve(double value, double low, double high)
{
    uint32_t place = 0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        bool upper = value >= middle;
        place = place << 1 | (upper ? 1 : 0);
        low = upper ? middle : low;
        high = upper ? high : middle;
    }
    return place;
}

static void write_cell(uint32_t column, uint32_t row, int length, char *out)
{
    int columns_left = (5 * length + 1) / 2;
    int rows_left = 5 * length / 2;
    for (int i = 0; i < length; i++) {
        unsigned digit = 0;
        for (int bit = 0; bit < 5; bit++) {
            bool across = (5 * i + bit) % 2 == 0;
            uint32_t next = across ? column >> --columns_left : row >> --rows_left;
            digit = digit << 1 | (next & 1);
        }
        out[i] = label_geohash_digits[digit];
    }
    out[length] = '\0';
}

static int add_cell(struct hearsay_context *context, uint32_t column, uint32_t row, int length,
                    struct hearsay_error *out_error)
{
    char geohash[CONTEXT_GEOHASH_FINE + 1];
    char label[32];
    write_cell(column, row, length, geohash);
    int written = snprintf(label, sizeof(label), "geo:%s", geohash);
    return context_add(context, label, (size_t)written, out_error);
}

/*
 * Adds the four cells of 7 characters that are nearest to a position, of which `column` and `row`
 * have HALVINGS bits: the own cell, and those on the sides of the nearer edges. Two people who
 * stand close together on both sides of an edge share two or all of these cells. The first bit that
 * is not part of the geohash says in which half of the cell the position is, and therefore which
 * edge is nearer.
 */
static int add_nearest(struct hearsay_context *context, uint32_t column, uint32_t row,
                       struct hearsay_error *out_error)
{
    int column_bits = (5 * CONTEXT_GEOHASH_NEAREST + 1) / 2;
    int row_bits = 5 * CONTEXT_GEOHASH_NEAREST / 2;
    bool is_east = (column >> (HALVINGS - column_bits - 1) & 1) != 0;
    bool is_north = (row >> (HALVINGS - row_bits - 1) & 1) != 0;
    uint32_t columns[2] = {column >> (HALVINGS - column_bits)};
    uint32_t rows[2] = {row >> (HALVINGS - row_bits)};
    /* Columns wrap around the world: the mask keeps column_bits bits of what has wrapped. */
    columns[1] = (columns[0] + (is_east ? 1 : UINT32_MAX)) & ((UINT32_C(1) << column_bits) - 1);
    /* Rows do not: beyond either pole the number is too large, as unsigned numbers wrap. */
    rows[1] = rows[0] + (is_north ? 1 : UINT32_MAX);
    int row_count = rows[1] >> row_bits == 0 ? 2 : 1;
    int status = HEARSAY_OK;
    for (int i = 0; i < 2 * row_count && status == HEARSAY_OK; i++) {
        status = add_cell(context, columns[i % 2], rows[i / 2], CONTEXT_GEOHASH_NEAREST, out_error);
    }
    return status;
}

int hearsay_context_add_position(struct hearsay_context *context, double latitude, double longitude,
                                 struct hearsay_error *out_error)
{
    /* The condition is written so that NaN is refused, too. */
    if (!(latitude >= -90 && latitude <= 90 && longitude >= -180 && longitude <= 180)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "%.10g,%.10g is not a latitude from -90 to 90 and a longitude from -180 to "
                        "180 degrees",
                        latitude, longitude);
    }
    uint32_t column = geohash_halve(longitude, -180, 180);
    uint32_t row = geohash_halve(latitude, -90, 90);
    int coarse_shift = HALVINGS - 5 * CONTEXT_GEOHASH_COARSE / 2;
    int status = add_cell(context, column >> coarse_shift, row >> coarse_shift,
                          CONTEXT_GEOHASH_COARSE, out_error);
    if (status == HEARSAY_OK) {
        status = add_nearest(context, column, row, out_error);
    }
    return status == HEARSAY_OK ? add_cell(context, column, row, CONTEXT_GEOHASH_FINE, out_error)
                                : status;
}
