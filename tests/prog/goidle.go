// Goroutines that wait by design, and others that wait for somebody else.
//
//	goidle SECONDS
//
// The names of those that have nothing to do begin with idle, of the others with busy.
package main

import (
	"os"
	"os/signal"
	"strconv"
	"time"
)

var (
	jobs    = make(chan int)
	quit    = make(chan bool)
	results = make(chan int)
)

func idleWorker() {
	for range jobs {
	}
}

func idleLoop(tick *time.Ticker) {
	for {
		select {
		case <-tick.C:
		case <-jobs:
		case <-quit:
			return
		}
	}
}

func idleSignals(c chan os.Signal) { <-c }

func idleForever() { select {} }

func busySender(to chan int) {
	for {
		select {
		case to <- 1:
		case <-quit:
			return
		}
	}
}

//go:noinline
func wait(c chan int) { <-c }

func busyWaiter() { wait(results) }

//go:noinline
func busyMain(d time.Duration) {
	done := make(chan int)
	time.AfterFunc(d, func() { close(done) })
	<-done
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go idleWorker()
	go idleLoop(time.NewTicker(20 * time.Millisecond))
	go idleSignals(signals)
	go func() { idleForever() }()
	sent := results
	go busySender(sent)
	results = make(chan int)
	go busyWaiter()
	busyMain(time.Duration(seconds * 1e9))
}
