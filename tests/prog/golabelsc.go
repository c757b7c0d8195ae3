// Labels of goroutines that are in C: burncN runs with the label handler=burncN only.
//
//	golabelsc SECONDS
package main

/*
#include <stdint.h>
#include <time.h>

// Uses so many registers that no register of Go is left.
static uint64_t spin(uint64_t seed, long ms)
{
	struct timespec t;
	uint64_t a = seed, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, end;
	clock_gettime(CLOCK_MONOTONIC, &t);
	end = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 + (uint64_t)ms;
	do {
		for (int i = 0; i < 1000; i++) {
			a = a * 31 + h; b ^= a >> 7; c += b; d ^= c << 3;
			e += d; f ^= e >> 5; g += f; h = h * 17 + g;
		}
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while ((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 < end);
	return a + b + c + d + e + f + g + h;
}

__attribute__((noinline)) uint64_t burnc0(long ms) { return spin(1, ms) + 1; }
__attribute__((noinline)) uint64_t burnc1(long ms) { return spin(2, ms) + 2; }
*/
import "C"

import (
	"context"
	"os"
	"runtime/pprof"
	"strconv"
	"time"
)

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	for i := 0; time.Now().Before(end); i++ {
		name := "burnc" + strconv.Itoa(i%2)
		pprof.Do(context.Background(), pprof.Labels("handler", name), func(context.Context) {
			if i%2 == 0 {
				C.burnc0(250)
			} else {
				C.burnc1(250)
			}
		})
	}
}
