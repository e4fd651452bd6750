enum { COLUMNS = @count_columns@, MASKED = @count_masked@, NAMED = @named@ };

static const char *const column_names[COLUMNS] = {@names@};
static const double shift[COLUMNS] = {@shift@};
static const double factor[COLUMNS] = {@factor@};
static const double mean[COLUMNS] = {@mean@};
static const int masked[MASKED + 1] = {@masked_columns@};

/* The columns that say when a row was, from the coarse to the fine, and to which series it belongs. */
enum { ORDERED = @count_ordered@, STRICT = @strict@, SEQUENCE = @has_sequence@ };
static const char *const order_names[ORDERED + 1] = {@order_names@};
static const char *const order_forms[ORDERED + 1] = {@order_forms@};
static const char *const order_like[ORDERED + 1] = {@order_like@};
static const char sequence_name[] = @sequence_name@;

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
static int order_place[ORDERED + 1], sequence_place; /* -1 where the table has no such column */
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

/* The place of a column among the names, -1 if it is not there, -2 if there are several. */
static int find_column(const char *name) {
  int found = -1;
  for (int k = 0; k < width && NAMED; k++)
    if (!strcmp(cells[k], name)) found = found == -1 ? k : -2;
  if (found == -2) fprintf(stderr, "the table has two columns called %s\n", name);
  return found;
}

/* Reads the line of names, if there is one; returns whether all is well. */
static int read_names(void) {
  width = COLUMNS;
  sequence_place = -1;
  for (int n = 0; n < COLUMNS; n++) place[n] = n;
  while (NAMED && !mark) {
    const int found = read_line();
    if (found <= 0) return found ? 0 : (fputs("the table is empty\n", stderr), 0);
  }
  if (NAMED) width = divide();
  if (width < 0) return fputs("the names of the columns have a quote that is not closed\n", stderr), 0;
  if (width > MOST) return fprintf(stderr, "the table has more than %d columns\n", MOST), 0;
  for (int n = 0; n < COLUMNS && NAMED; n++) {
    place[n] = find_column(column_names[n]);
    if (place[n] == -1) fprintf(stderr, "the table has no column %s\n", column_names[n]);
    if (place[n] < 0) return 0;
  }
  for (int n = 0; n < ORDERED; n++)
    if ((order_place[n] = find_column(order_names[n])) == -2) return 0;
  return !SEQUENCE || (sequence_place = find_column(sequence_name)) != -2;
}

/* A letter as a small one. */
static int small(char letter) { return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter; }

/* Whether a cell says that its value is missing, in large or small letters. */
static int is_missing(const char *cell) {
  static const char *const words[] = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?"};
  for (size_t n = 0; n < sizeof words / sizeof *words; n++) {
    size_t k = 0;
    while (words[n][k] && small(cell[k]) == words[n][k]) k++;
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

/* The number of so many digits, from which `at` is moved; -1 if there are fewer than the least. */
static int digits(const char **at, int least, int most) {
  int value = 0, count = 0;
  for (; count < most && **at >= '0' && **at <= '9'; count++) value = 10 * value + *(*at)++ - '0';
  return count < least ? -1 : value;
}

/* Which of some words begins here, by its first three letters; -1 if none does. */
static int word_at(const char **at, const char *words) {
  for (int n = 0; words[3 * n]; n++) {
    int k = 0;
    while (k < 3 && small((*at)[k]) == words[3 * n + k]) k++;
    if (k < 3) continue;
    while (small(**at) >= 'a' && small(**at) <= 'z') (*at)++;
    return n;
  }
  return -1;
}

/* The days from 1970 to a date. */
static double days_to(int year, int month, int day) {
  const int from = month < 3 ? year - 1 : year, passed = (153 * (month + (month < 3 ? 9 : -3)) + 2) / 5;
  return 365.0 * from + from / 4 - from / 100 + from / 400 + passed + day - 1 - 719468;
}

/* The seconds of a time of day, to the end of the cell, less those of its zone; infinity if there is none. */
static double clock_in(const char *at) {
  int minute = 0, hour = digits(&at, 1, 2);
  double seconds = 0, unit = 0.1;
  if (*at == ':') at++, minute = digits(&at, 2, 2);
  if (*at == ':') at++, seconds = digits(&at, 2, 2);
  if ((*at == '.' || *at == ',') && at[1] >= '0' && at[1] <= '9')
    for (at++; *at >= '0' && *at <= '9'; unit /= 10) seconds += unit * (*at++ - '0');
  if (hour < 0 || hour > 24 || minute < 0 || minute > 59 || seconds < 0 || seconds >= 61) return HUGE_VAL;
  at += strspn(at, " ");
  if (small(*at) == 'a' || small(*at) == 'p') {
    if (hour < 1 || hour > 12) return HUGE_VAL;
    hour = hour % 12 + (small(*at) == 'p' ? 12 : 0);
    at += at[1] == '.' ? 2 : 1;
    if (small(*at++) != 'm') return HUGE_VAL;
    at += *at == '.';
    at += strspn(at, " ");
  }
  if (small(*at) == 'z') at++;
  else if (word_at(&at, "utcgmt") < 0 && (*at == '+' || *at == '-')) {
    const int sign = *at++ == '-' ? -1 : 1, hours = digits(&at, 2, 2);
    at += *at == ':';
    const int minutes = *at ? digits(&at, 2, 2) : 0;
    if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return HUGE_VAL;
    seconds -= sign * (60.0 * hours + minutes) * 60;
  }
  return *at ? HUGE_VAL : (hour * 60.0 + minute) * 60 + seconds;
}

/* A time as a number that increases with it, by the form of its cells; infinity if it has another one. */
static double time_in(const char *cell, const char *form) {
  if (*form == '#' || (*form == 'p' && !strchr(cell, ':'))) return number_in(cell);
  if (*form == 'p') return clock_in(cell);
  int year = 0, month = 1, day = 1, week = 0, weekday = 1, sign = 0;
  const char *at = cell, *from;
  if (word_at(&at, "montuewedthufrisatsun") >= 0) at += strspn(at, "., ");
  for (; *form; form++) {
    if (*form == 'Y') year = digits(&at, 4, 4);
    else if (*form == 'S') {
      from = at, year = digits(&at, 2, 4);
      if (at - from == 2) year += year > 68 ? 1900 : 2000;
      else if (at - from == 3) return HUGE_VAL;
    }
    else if (*form == 'M' || *form == 'm') month = digits(&at, *form == 'm' ? 2 : 1, 2);
    else if (*form == 'D' || *form == 'd') day = digits(&at, *form == 'd' ? 2 : 1, 2);
    else if (*form == 'w') week = digits(&at, 2, 2), month = week < 1 || week > 53 ? 0 : 1;
    else if (*form == 'q') month = 3 * digits(&at, 1, 1) - 2;
    else if (*form == 'N') month = word_at(&at, "janfebmaraprmayjunjulaugsepoctnovdec") + 1, at += *at == '.';
    else if (*form == '_') at += strspn(at, "-,/ ");
    else if (*form == 'k') {
      if (*at && strchr("1234567", at[*at == '-'])) at += *at == '-', weekday = digits(&at, 1, 1);
    }
    else if (*form == 'n') {
      from = at;
      if (*at == '.' || word_at(&at, "st nd rd th ") < 0) at = from + (*from == '.');
    }
    else if (*form == '-') {
      if (!*at || !strchr("-/.", *at) || (sign && *at != sign)) return HUGE_VAL;
      sign = *at++;
    }
    else if (small(*at++) != small(*form)) return HUGE_VAL;
    if (year < 0 || month < 1 || month > 12 || day < 1) return HUGE_VAL;
  }
  double days = days_to(year, month, day), seconds = 0;
  if (year < 1 || (day > 28 && days >= days_to(month == 12 ? year + 1 : year, month % 12 + 1, 1))) return HUGE_VAL;
  if (week) { /* the first one has the fourth of January; 1970 began on a Thursday */
    days = days_to(year, 1, 4);
    days += 7 * (week - 1) + weekday - 1 - fmod(days + 719468 + 2, 7);
  }
  if (*at == ',' || *at == ' ' || small(*at) == 't') {
    at += small(*at) == 't' ? 1 : strspn(at, ", ");
    seconds = clock_in(at);
  } else if (*at) return HUGE_VAL;
  return days * 86400 + seconds;
}

static long series_rows; /* those of the series so far; 0 begins another one */

/* Whether a row belongs to the series that is read, and comes after its rows; if not, it says so. */
static int is_next(long number) {
  static char series[WIDEST];
  static double last[ORDERED + 1];
  if (sequence_place >= 0) {
    const char *cell = cells[sequence_place];
    if (is_missing(cell))
      return fprintf(stderr, "row %ld, %s: it does not say to which series the row belongs\n", number, sequence_name), 0;
    if (series_rows && strcmp(series, cell))
      return fprintf(stderr, "row %ld, %s: %s is another series than %s; give the rows of one series\n", number, sequence_name, cell, series), 0;
    strcpy(series, cell);
  }
  int after = !series_rows;
  for (int n = 0; n < ORDERED && order_place[0] >= 0; n++) {
    if (order_place[n] < 0) continue;
    const char *cell = cells[order_place[n]];
    if (is_missing(cell)) return fprintf(stderr, "row %ld, %s: the time is missing\n", number, order_names[n]), 0;
    const double now = time_in(cell, order_forms[n]);
    if (isinf(now)) return fprintf(stderr, "row %ld, %s: %s is no time like %s\n", number, order_names[n], cell, order_like[n]), 0;
    if (!after && (now < last[n] || (STRICT && now == last[n] && n + 1 == ORDERED)))
      return fprintf(stderr, "row %ld, %s: %s does not come after that of the row before; sort the rows by time\n", number, order_names[n], cell), 0;
    after |= now > last[n];
    last[n] = now;
  }
  series_rows++;
  return 1;
}

/* The numbers of a line: 1, 0 for an empty line, or -1 for one that is wrong, which it says. */
static int numbers(long number, double *row) {
  const int count = divide();
  if (count == 1 && !*cells[0]) return 0;
  if (count < 0) return fprintf(stderr, "row %ld: a quote is not closed\n", number), -1;
  if (count != width) return fprintf(stderr, "row %ld: a row has %d cells, got %d\n", number, width, count), -1;
  if (!is_next(number)) return -1;
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
