    @name@_vector a0 = {0}, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
    int k = 0;
    for (; k + @name@_LANES / 4 <= rows; k += @name@_LANES / 4, w += 8 * @name@_LANES) {
      @name@_SUM(0), @name@_SUM(1), @name@_SUM(2), @name@_SUM(3);
      @name@_SUM(4), @name@_SUM(5), @name@_SUM(6), @name@_SUM(7);
    }
#if @name@_LANES > 4
    a0 += a4, a1 += a5, a2 += a6, a3 += a7;
#endif
#if @name@_LANES > 8
    a0 += a2, a1 += a3;
#endif
    @name@_PUT(0), @name@_PUT(1);
#if @name@_LANES < 16
    @name@_PUT(2), @name@_PUT(3);
#endif
#if @name@_LANES < 8
    @name@_PUT(4), @name@_PUT(5), @name@_PUT(6), @name@_PUT(7);
#endif
