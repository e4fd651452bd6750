
enum { LETTERS = @letters@, LONGEST = @longest@, KNOWN = @known@ };
static const char *const words[KNOWN + 1] = {@words@};

/* The symbol of what a line begins with, how many bytes that has, or -1. */
static int symbol_at(const char *line, int *size) {
  char *end = NULL;
  *size = (int)strcspn(line, " \t\r\n\v\f");
  if (!KNOWN) {
    const long symbol = strtol(line, &end, 10);
    return end == line + *size && symbol >= 0 && symbol < @NAME@_SYMBOLS ? (int)symbol : -1;
  }
  if (LETTERS)
    for (*size = 1; (line[*size] & 0xC0) == 0x80;) ++*size;
  for (int n = 0; n < KNOWN; n++)
    if (strlen(words[n]) == (size_t)*size && !memcmp(words[n], line, (size_t)*size)) return n + 1;
  return 0;
}

int main(void) {
  static char line[1 << 20];
  static @name@_state state;
  static float y[@NAME@_OUTPUTS];
  print_heads();
  for (long number = 1; fgets(line, sizeof line, stdin); number++) {
    if (!strchr(line, '\n') && !feof(stdin))
      return fprintf(stderr, "line %ld is no text, or too long\n", number), 2;
    char *rest = line + (number == 1 && !strncmp(line, "\357\273\277", 3) ? 3 : 0); /* the mark of UTF-8 */
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    @name@_start(&state);
    while (*(rest += LETTERS ? 0 : strspn(rest, " \t\v\f")) && (!LONGEST || count < LONGEST)) {
      int size;
      const int symbol = symbol_at(rest, &size);
      if (symbol < 0) {
        fprintf(stderr, "line %ld: %.*s is no symbol from 0 to %d\n", number, size, rest, @NAME@_SYMBOLS - 1);
        return 2;
      }
      @name@_step(&state, symbol, y);
      rest += size;
      count++;
    }
    if (count) print_answer(y);
  }
  return 0;
}
