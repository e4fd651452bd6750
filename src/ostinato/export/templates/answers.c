/* Says what it makes of what it has read: @what@.

     cc -O2 @path@.c -o @path@ -lm
     ./@path@ < @file@

   @reads@
   In a program of your own, call @name@_start, then @name@_step for each value as it comes, and
   @name@_answer whenever you want to know.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@path@.h"

enum { ANSWERS = @NAME@_OUTPUTS };
@answering@
@reading@
