enum { COLUMNS = @count_columns@, MASKED = @count_masked@, NAMED = @named@ };

static const char *const column_names[COLUMNS] = {@names@};
static const double shift[COLUMNS] = {@shift@};
static const double factor[COLUMNS] = {@factor@};
static const double mean[COLUMNS] = {@mean@};
static const int masked[MASKED + 1] = {@masked_columns@};

/* Reads a row, in the units of the data; a missing value is NAN. */
static void @name@_read(@name@_state *state, const double *row, float *y) {
  float x[@NAME@_INPUTS];
  for (int n = 0; n < COLUMNS; n++)
    x[n] = (float)(((isnan(row[n]) ? mean[n] : row[n]) - shift[n]) / factor[n]);
  for (int n = 0; n < MASKED; n++) x[COLUMNS + n] = isnan(row[masked[n]]) ? 1.0f : 0.0f;
  @name@_step(state, x, y);
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

enum { MOST = 4096, WIDEST = 1 << 16 };
static char line[WIDEST];
static char *cells[MOST];
static int place[COLUMNS]; /* of each column among the cells */

/* Reads the line of names, if there is one; returns whether all is well. */
static int read_names(void) {
  if (NAMED && !fgets(line, sizeof line, stdin)) return fputs("the table is empty\n", stderr), 0;
  const int width = NAMED ? divide(line, cells, MOST) : 0;
  for (int n = 0; n < COLUMNS; n++) {
    place[n] = NAMED ? -1 : n;
    for (int k = 0; k < width; k++)
      if (!strcmp(cells[k], column_names[n])) place[n] = k;
    if (place[n] < 0) return fprintf(stderr, "the table has no column %s\n", column_names[n]), 0;
  }
  return 1;
}

/* The numbers of a line: 1, 0 for an empty line, or -1 for one that is wrong, which it says. */
static int numbers(long number, double *row) {
  if (!strchr(line, '\n') && !feof(stdin)) return fprintf(stderr, "row %ld is too long\n", number), -1;
  const int count = divide(line, cells, MOST);
  if (count == 1 && !*cells[0]) return 0;
  if (!NAMED && count != COLUMNS)
    return fprintf(stderr, "row %ld: a row has %d numbers, got %d\n", number, COLUMNS, count), -1;
  for (int n = 0; n < COLUMNS; n++) {
    char *end = NULL;
    const char *cell = place[n] < count ? cells[place[n]] : "";
    row[n] = strtod(cell, &end);
    if (!*cell || !strcmp(cell, "NA")) row[n] = NAN;
    else if (*end)
      return fprintf(stderr, "row %ld, %s: %s is no number\n", number, column_names[n], cell), -1;
    int allowed = 0;
    for (int k = 0; k < MASKED; k++) allowed |= masked[k] == n;
    if (isnan(row[n]) && !allowed)
      return fprintf(stderr, "row %ld, %s: a value is missing\n", number, column_names[n]), -1;
  }
  return 1;
}
