// Goroutines that wait for locks and channels, and measure it themselves.
//
//	goblock SECONDS [FILE]
//
// Prints, for each place, its waiting time in seconds and how often it waited, by its own clock, and
// writes Go's own block profile to the file.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

type site struct {
	name string
	ns   int64
	n    int64
}

func (s *site) add(since time.Time) {
	atomic.AddInt64(&s.ns, int64(time.Since(since)))
	atomic.AddInt64(&s.n, 1)
}

var (
	lock, quick sync.Mutex
	rw          sync.RWMutex
	items       = make(chan int)
	slots       = make(chan int)
	end         = make(chan int)
	atLock      = site{name: "waitLock"}
	atQuick     = site{name: "waitQuick"}
	atRW        = site{name: "waitRead"}
	atItem      = site{name: "receiveItem"}
	atSlot      = site{name: "sendSlot"}
	atEnd       = site{name: "waitEnd"}
	group       sync.WaitGroup
)

//go:noinline
func waitLock() { t := time.Now(); lock.Lock(); atLock.add(t) }

//go:noinline
func waitQuick() { t := time.Now(); quick.Lock(); atQuick.add(t) }

//go:noinline
func waitRead() { t := time.Now(); rw.RLock(); atRW.add(t) }

//go:noinline
func receiveItem() { t := time.Now(); <-items; atItem.add(t) }

//go:noinline
func sendSlot(i int) { t := time.Now(); slots <- i; atSlot.add(t) }

//go:noinline
func waitEnd() { t := time.Now(); <-end; atEnd.add(t) }

func spawn(until time.Time, f func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		for time.Now().Before(until) {
			f()
		}
	}()
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	if len(os.Args) > 2 {
		runtime.SetBlockProfileRate(1)
	}
	until := time.Now().Add(time.Duration(seconds * 1e9))
	for i := 0; i < 3; i++ {
		spawn(until, func() { waitLock(); time.Sleep(3 * time.Millisecond); lock.Unlock() })
	}
	for i := 0; i < 2; i++ {
		spawn(until, func() { waitQuick(); time.Sleep(100 * time.Microsecond); quick.Unlock(); time.Sleep(50 * time.Microsecond) })
	}
	spawn(until, func() { rw.Lock(); time.Sleep(5 * time.Millisecond); rw.Unlock(); time.Sleep(5 * time.Millisecond) })
	for i := 0; i < 2; i++ {
		spawn(until, func() { waitRead(); rw.RUnlock(); time.Sleep(time.Millisecond) })
	}
	go func() {
		for i := 0; ; i++ {
			time.Sleep(7 * time.Millisecond)
			items <- i
		}
	}()
	spawn(until, receiveItem)
	go func() {
		for range slots {
			time.Sleep(2 * time.Millisecond)
		}
	}()
	spawn(until, func() { sendSlot(1) })
	var ended sync.WaitGroup
	ended.Add(1)
	go func() { waitEnd(); ended.Done() }()
	time.Sleep(time.Until(until))
	close(end)
	ended.Wait()
	group.Wait()
	for _, s := range []*site{&atLock, &atQuick, &atRW, &atItem, &atSlot, &atEnd} {
		fmt.Println(s.name, float64(s.ns)/1e9, s.n)
	}
	if len(os.Args) > 2 {
		f, _ := os.Create(os.Args[2])
		pprof.Lookup("block").WriteTo(f, 0)
		f.Close()
	}
}
