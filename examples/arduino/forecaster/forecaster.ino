/* Forecasts the next reading of a sensor with a recurrent network, on an Arduino Uno.

   python examples/arduino/make.py writes heat.h (a GRU of 8 units, weights of 8 bits) and scaling.h.
   The light is on when the reading of the next hour will be above the limit.
*/
#include "heat.h"
#include "scaling.h"

enum { SENSOR = A0, LIGHT = 13, LIMIT = 650 };
static const unsigned long hour = 3600000UL;

static heat_state state;
static float forecast;

void setup(void) {
  pinMode(LIGHT, OUTPUT);
  heat_start(&state);
}

void loop(void) {
  const float x[HEAT_INPUTS] = {((float)analogRead(SENSOR) - SHIFT) / FACTOR};
  float y[HEAT_OUTPUTS];
  heat_step(&state, x, y);
  forecast = y[0] * TARGET_FACTOR + TARGET_SHIFT;
  digitalWrite(LIGHT, forecast > LIMIT ? HIGH : LOW);
  delay(hour);
}
