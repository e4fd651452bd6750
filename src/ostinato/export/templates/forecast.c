/* Forecasts what comes after the last row of a table.

     cc -O2 @path@.c -o @path@ -lm
     ./@path@ < table.csv

   The first line of the table has the names of its columns. Those that the network reads are
   @column_names@; others are left out.
   In a program of your own, call @name@_start, then @name@_read for each row as it comes, and
   @name@_forecast whenever you want to know what comes next.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@path@.h"

@table@
enum { TARGETS = @count_targets@, HORIZON = @count_steps@, LEVELS = @count_levels@ };
enum { MADE = @count_made@, PAIRS = @count_pairs@ };

static const char *const target_names[TARGETS] = {@target_names@};
static const char *const level_names[LEVELS] = {@level_names@};
static const double target_shift[HORIZON * TARGETS] = {@target_shift@};
static const double target_factor[HORIZON * TARGETS] = {@target_factor@};
static const double moved[HORIZON * TARGETS * PAIRS + 1] = {@moved@};

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

int main(void) {
  static @name@_state state;
  static float y[@NAME@_OUTPUTS];
  double row[COLUMNS];
  if (!read_names()) return 2;
  @name@_start(&state);
  long rows = 0;
  for (int more; (more = read_line());) {
    const int found = more < 0 ? more : numbers(rows + 1, row);
    if (found < 0) return 2;
    if (!found) continue;
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
