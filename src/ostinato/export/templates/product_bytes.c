    int k = 0;
    for (int j = 0; j < 32; j++) y[j] = 0;
    for (; k + 8 <= rows; k += 8, w += 256)
      for (int j = 0; j < 32; j++) {
        float s = y[j];
        @rows@
        y[j] = s;
      }
