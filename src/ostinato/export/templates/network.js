function @name@() {
  const unpack = (words, kind) => {
    const bytes = Uint8Array.from(atob(words), (one) => one.charCodeAt(0));
    return new kind(bytes.buffer);
  };
  @numbers@
  return {
    inputs: @inputs@,
    symbols: @symbols@,
    outputs: @outputs@,
    start() {
      return [
        @start@
      ];
    },
    step(state, x) {
      @step@
    },
  };
}
