// Goroutines that are ready to run for long, because there is one thread for all of them.
//
//	goready SECONDS
//
// Each of them waits for its turn and computes then.  Prints how long they have waited, in seconds by
// their own clocks, and how often.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const workers = 16

var (
	turn   [workers]chan bool
	ns, n  int64
	done   sync.WaitGroup
	result uint64
)

//go:noinline
func waitTurn(i int) bool {
	from := time.Now()
	more := <-turn[i]
	atomic.AddInt64(&ns, int64(time.Since(from)))
	atomic.AddInt64(&n, 1)
	return more
}

func compute() {
	for from := time.Now(); time.Since(from) < 3*time.Millisecond; {
		result++
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	runtime.GOMAXPROCS(1)
	until := time.Now().Add(time.Duration(seconds * 1e9))
	for i := range turn {
		turn[i] = make(chan bool, 1)
		go func(i int) {
			for waitTurn(i) {
				compute()
				done.Done()
			}
			done.Done()
		}(i)
	}
	for more := true; more; {
		more = time.Now().Before(until)
		done.Add(workers)
		for _, c := range turn {
			c <- more
		}
		done.Wait()
	}
	fmt.Println("waitTurn", float64(ns)/1e9, n)
}
