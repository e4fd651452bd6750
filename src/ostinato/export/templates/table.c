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

enum { MOST = 4096, WIDEST = 1 << 16 };
static char line[WIDEST];
static char *cells[MOST];
static int place[COLUMNS]; /* of each column among the cells */
static int width;          /* how many cells a row has */
static char mark;          /* between cells: a tab, a semicolon or a comma */

/* Reads a line, without its end: 1, 0 after the last one, or -1 for what is no line, which it says. */
static int read_line(void) {
  if (!fgets(line, sizeof line, stdin)) return 0;
  size_t size = strlen(line);
  if ((!size || line[size - 1] != '\n') && !feof(stdin))
    return fprintf(stderr, "the table has a line that is no text, or longer than %d bytes\n", WIDEST - 2), -1;
  while (size && (line[size - 1] == '\n' || line[size - 1] == '\r')) line[--size] = '\0';
  if (!mark) { /* the first line may begin with the mark of UTF-8, and says what is between cells */
    if (!strncmp(line, "\357\273\277", 3)) memmove(line, line + 3, size - 2);
    if (line[strspn(line, " ")]) mark = strchr(line, '\t') ? '\t' : strchr(line, ';') ? ';' : ',';
  }
  return 1;
}

/* Divides the line into cells; returns how many, MOST + 1 if too many, -1 if a quote has no end. */
static int divide(void) {
  const char *from = line;
  char *to = line;
  for (int count = 0; count < MOST; from++) {
    from += strspn(from, " ");
    char *const begin = cells[count++] = to;
    int open = *from == '"';
    from += open;
    while (open && *from) { /* a doubled quote is one */
      if (*from == '"' && *++from != '"') open = 0;
      else *to++ = *from++;
    }
    if (open) return -1;
    while (*from && *from != mark) *to++ = *from++;
    while (to > begin && to[-1] == ' ') to--;
    const int last = !*from;
    *to++ = '\0';
    if (last) return count;
  }
  return MOST + 1;
}

/* Reads the line of names, if there is one; returns whether all is well. */
static int read_names(void) {
  width = COLUMNS;
  for (int n = 0; n < COLUMNS; n++) place[n] = n;
  while (NAMED && !mark) {
    const int found = read_line();
    if (found <= 0) return found ? 0 : (fputs("the table is empty\n", stderr), 0);
  }
  if (NAMED) width = divide();
  if (width < 0) return fputs("the names of the columns have a quote that is not closed\n", stderr), 0;
  if (width > MOST) return fprintf(stderr, "the table has more than %d columns\n", MOST), 0;
  for (int n = 0; n < COLUMNS && NAMED; n++) {
    int count = 0;
    for (int k = 0; k < width; k++)
      if (!strcmp(cells[k], column_names[n])) place[n] = k, count++;
    if (!count) return fprintf(stderr, "the table has no column %s\n", column_names[n]), 0;
    if (count > 1) return fprintf(stderr, "the table has two columns called %s\n", column_names[n]), 0;
  }
  return 1;
}

/* Whether a cell says that its value is missing, in large or small letters. */
static int is_missing(const char *cell) {
  static const char *const words[] = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?"};
  for (size_t n = 0; n < sizeof words / sizeof *words; n++) {
    size_t k = 0;
    while (words[n][k] && (cell[k] >= 'A' && cell[k] <= 'Z' ? cell[k] + 32 : cell[k]) == words[n][k]) k++;
    if (!words[n][k] && !cell[k]) return 1;
  }
  return 0;
}

/* The number in a cell, whose point may be a comma where no comma divides cells; else infinity. */
static double number_in(const char *cell) {
  static char text[WIDEST];
  char *const comma = strchr(strcpy(text, cell), ','), *end = NULL;
  if (comma && mark != ',') *comma = '.';
  const double value = strtod(text, &end);
  return *end || text[strspn(text, "+-.0123456789eE")] ? HUGE_VAL : value;
}

/* The numbers of a line: 1, 0 for an empty line, or -1 for one that is wrong, which it says. */
static int numbers(long number, double *row) {
  const int count = divide();
  if (count == 1 && !*cells[0]) return 0;
  if (count < 0) return fprintf(stderr, "row %ld: a quote is not closed\n", number), -1;
  if (count != width) return fprintf(stderr, "row %ld: a row has %d cells, got %d\n", number, width, count), -1;
  for (int n = 0; n < COLUMNS; n++) {
    const char *cell = cells[place[n]];
    int allowed = 0;
    for (int k = 0; k < MASKED; k++) allowed |= masked[k] == n;
    row[n] = is_missing(cell) ? NAN : number_in(cell);
    if (isnan(row[n]) && !allowed)
      return fprintf(stderr, "row %ld, %s: a value is missing\n", number, column_names[n]), -1;
    if (isinf(row[n])) return fprintf(stderr, "row %ld, %s: %s is no number\n", number, column_names[n], cell), -1;
    if (fabs((row[n] - shift[n]) / factor[n]) > 1e18)
      return fprintf(stderr, "row %ld, %s: %s is too large\n", number, column_names[n], cell), -1;
  }
  return 1;
}
