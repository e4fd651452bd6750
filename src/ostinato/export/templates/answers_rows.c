
@table@
int main(void) {
  static @name@_state state;
  static float y[@NAME@_OUTPUTS];
  double row[COLUMNS];
  if (!read_names()) return 2;
  print_heads();
  @name@_start(&state);
  long number = 1;
  for (int more; (more = read_line()); number++) {
    const int found = more < 0 ? more : numbers(number, row);
    if (found < 0) return 2;
    if (!found) { /* the next sequence begins */
      @name@_start(&state);
      series_rows = 0;
      continue;
    }
    @name@_read(&state, row, y);
    print_answer(y);
  }
  return 0;
}
