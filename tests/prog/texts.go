// Goroutines that wait for ever, for tests of the texts of snapshots.
package main

import (
	"context"
	"fmt"
	"runtime/pprof"
	"time"
)

var never = make(chan int)

//go:noinline
func receive() { <-never }

//go:noinline
func labelled() {
	pprof.Do(context.Background(), pprof.Labels("handler", "/search"), func(context.Context) { receive() })
}

func main() {
	go receive()
	time.Sleep(10 * time.Millisecond)
	go receive()
	time.Sleep(10 * time.Millisecond)
	go labelled()
	time.Sleep(100 * time.Millisecond)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
