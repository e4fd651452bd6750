/* Forecasts what comes after the last row of a table.

     cc -O2 @name@.c -o @name@ -lm
     ./@name@ < table.csv

   The first line of the table has the names of its columns. Those that the network reads are
   @column_names@; others are left out.
   In a program of your own, call @name@_start, then @name@_read for each row as it comes, and
   @name@_forecast whenever you want to know what comes next.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@name@.h"

enum { COLUMNS = @count_columns@, TARGETS = @count_targets@, HORIZON = @count_steps@, LEVELS = @count_levels@ };
enum { MADE = @count_made@, PAIRS = @count_pairs@, MASKED = @count_masked@ };

static const char *const column_names[COLUMNS] = {@names@};
static const char *const target_names[TARGETS] = {@target_names@};
static const char *const level_names[LEVELS] = {@level_names@};
static const double shift[COLUMNS] = {@shift@};
static const double factor[COLUMNS] = {@factor@};
static const double mean[COLUMNS] = {@mean@};
static const int masked[MASKED + 1] = {@masked_columns@};
static const double target_shift[HORIZON * TARGETS] = {@target_shift@};
static const double target_factor[HORIZON * TARGETS] = {@target_factor@};
static const double moved[HORIZON * TARGETS * PAIRS + 1] = {@moved@};

/* Reads a row, in the units of the data; a missing value is NAN. */
static void @name@_read(@name@_state *state, const double *row, float *y) {
  float x[@NAME@_INPUTS];
  for (int n = 0; n < COLUMNS; n++)
    x[n] = (float)(((isnan(row[n]) ? mean[n] : row[n]) - shift[n]) / factor[n]);
  for (int n = 0; n < MASKED; n++) x[COLUMNS + n] = isnan(row[masked[n]]) ? 1.0f : 0.0f;
  @name@_step(state, x, y);
}

static int rising(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The forecasts of a step ahead (from 0) of a target, for each level, in the units of the data. */
static void @name@_forecast(const float *y, int ahead, int target, double *levels) {
  const int at = ahead * TARGETS + target;
  for (int n = 0; n < MADE; n++)
    levels[n] = (double)y[at * MADE + n] * target_factor[at] + target_shift[at];
  qsort(levels, MADE, sizeof *levels, rising);
  for (int n = MADE; n < LEVELS; n++) levels[n] = levels[0];
  double low = levels[PAIRS], high = levels[LEVELS - 1 - PAIRS];
  if (LEVELS == 2 * PAIRS && PAIRS) {
    const double by = moved[at * PAIRS + PAIRS - 1];
    low = high = (levels[PAIRS - 1] - by + levels[LEVELS - PAIRS] + by) / 2;
  }
  for (int n = PAIRS - 1; n >= 0; n--) {
    levels[n] -= moved[at * PAIRS + n];
    levels[LEVELS - 1 - n] += moved[at * PAIRS + n];
    low = levels[n] = levels[n] < low ? levels[n] : low;
    high = levels[LEVELS - 1 - n] = levels[LEVELS - 1 - n] > high ? levels[LEVELS - 1 - n] : high;
  }
}

/* Divides a line at its commas, semicolons or tabs; returns the number of cells. */
static int divide(char *line, char **cells, int most) {
  int count = 0;
  const char *marks = strchr(line, '\t') ? "\t\r\n" : strchr(line, ';') ? ";\r\n" : ",\r\n";
  for (char *rest = line; rest && count < most;) {
    char *end = rest + strcspn(rest, marks);
    const int last = !*end || *end == '\r' || *end == '\n';
    *end = '\0';
    while (*rest == ' ' || *rest == '"') rest++;
    for (size_t n = strlen(rest); n && (rest[n - 1] == ' ' || rest[n - 1] == '"');) rest[--n] = '\0';
    cells[count++] = rest;
    rest = last ? NULL : end + 1;
  }
  return count;
}

int main(void) {
  static char line[1 << 16];
  static char *cells[4096];
  static @name@_state state;
  static float y[@NAME@_OUTPUTS];
  int place[COLUMNS];
  if (!fgets(line, sizeof line, stdin)) return fputs("the table is empty\n", stderr), 2;
  const int width = divide(line, cells, 4096);
  for (int n = 0; n < COLUMNS; n++) {
    place[n] = -1;
    for (int k = 0; k < width; k++)
      if (!strcmp(cells[k], column_names[n])) place[n] = k;
    if (place[n] < 0) return fprintf(stderr, "the table has no column %s\n", column_names[n]), 2;
  }
  @name@_start(&state);
  long rows = 0;
  while (fgets(line, sizeof line, stdin)) {
    double row[COLUMNS];
    const int count = divide(line, cells, 4096);
    if (count == 1 && !*cells[0]) continue;
    for (int n = 0; n < COLUMNS; n++) {
      char *end = NULL;
      const char *cell = place[n] < count ? cells[place[n]] : "";
      row[n] = strtod(cell, &end);
      if (!*cell || !strcmp(cell, "NA")) row[n] = NAN;
      else if (*end)
        return fprintf(stderr, "row %ld, %s: %s is no number\n", rows + 1, column_names[n], cell), 2;
      int allowed = 0;
      for (int k = 0; k < MASKED; k++) allowed |= masked[k] == n;
      if (isnan(row[n]) && !allowed)
        return fprintf(stderr, "row %ld, %s: a value is missing\n", rows + 1, column_names[n]), 2;
    }
    @name@_read(&state, row, y);
    rows++;
  }
  if (!rows) return fputs("the table has no rows\n", stderr), 2;
  printf("step");
  for (int k = 0; k < TARGETS; k++)
    for (int n = 0; n < LEVELS; n++) printf(",%s%s", target_names[k], level_names[n]);
  putchar('\n');
  for (int ahead = 0; ahead < HORIZON; ahead++) {
    printf("%d", ahead + 1);
    for (int k = 0; k < TARGETS; k++) {
      double levels[LEVELS];
      @name@_forecast(y, ahead, k, levels);
      for (int n = 0; n < LEVELS; n++) printf(",%.9g", levels[n]);
    }
    putchar('\n');
  }
  return 0;
}
