// A goroutine that spends its time in C, and in Go that C has called; for 700 ms of real time.
package main

/*
#cgo CFLAGS: -O1 -fno-omit-frame-pointer
#include <stdint.h>
extern uint64_t goBack(uint64_t);
static uint64_t __attribute__((noinline)) burnC(uint64_t n)
{
	uint64_t x = n;
	for (uint64_t i = 0; i < n; i++)
		x = x * 31 + (x >> 7);
	return x;
}
static uint64_t __attribute__((noinline)) outerC(uint64_t n)
{
	return burnC(n) + 1;
}
static uint64_t __attribute__((noinline)) callsBack(uint64_t n)
{
	return goBack(n) + 1;
}
*/
import "C"

import (
	"fmt"
	"time"
)

//export goBack
func goBack(n C.uint64_t) C.uint64_t {
	return C.uint64_t(burnGo(uint64(n)))
}

//go:noinline
func burnGo(n uint64) uint64 {
	x := n
	for i := uint64(0); i < n; i++ {
		x = x*31 + x>>7
	}
	return x
}

//go:noinline
func intoC(n uint64) uint64 {
	return uint64(C.outerC(C.uint64_t(n)))
}

//go:noinline
func thereAndBack(n uint64) uint64 {
	return uint64(C.callsBack(C.uint64_t(n)))
}

func main() {
	end := time.Now().Add(700 * time.Millisecond)
	var x uint64
	for time.Now().Before(end) {
		x += intoC(300000) + thereAndBack(300000)
	}
	fmt.Println(x)
}
