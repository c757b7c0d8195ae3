// Goroutines that wait in C, and C that waits in Go: as gowaits, gowaitsc wait N DEPTH DUMP.
package main

/*
#include <unistd.h>
static void rest(int depth) {
	if (depth > 0)
		rest(depth - 1);
	else
		pause();
	__asm__ volatile("");
}
extern void again(int);
static void back(int n) { again(n); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	started int64
	empty   = make(chan int)
)

func begin() { atomic.AddInt64(&started, 1) }

//go:noinline
func inC(depth int) {
	begin()
	C.rest(C.int(depth))
}

//export again
func again(n C.int) {
	begin()
	<-empty
}

//go:noinline
func throughC(n int) { C.back(C.int(n)) }

//go:noinline
func inGo(n int) {
	begin()
	<-empty
}

func attend(n int, file string) {
	for atomic.LoadInt64(&started) < int64(n) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	runtime.GC()
	runtime.GC()
	buf := make([]byte, 16<<20)
	buf = buf[:runtime.Stack(buf, true)]
	if os.WriteFile(file, buf, 0644) != nil {
		panic("cannot write")
	}
	fmt.Println("ready")
	var b [1]byte
	for {
		if n, _ := syscall.Read(0, b[:]); n <= 0 {
			os.Exit(0)
		}
	}
}

func main() {
	n, _ := strconv.Atoi(os.Args[2])
	depth, _ := strconv.Atoi(os.Args[3])
	kinds := []func(int){inC, throughC, inGo}
	for i := 0; i < n; i++ {
		go kinds[i%len(kinds)](depth)
	}
	go attend(n, os.Args[4])
	<-empty
}
