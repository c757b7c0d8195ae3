// Goroutines that wait in all ways, for tests of snapshots.
//
//	gowaits wait N DEPTH DUMP    N of them, each at a known place, some DEPTH calls deep; writes
//	                             its own dump of all to the file DUMP
//	gowaits move N SECONDS       N that sleep for 1 to 3 ms at two places, again and again
//	gowaits churn N SECONDS      the same, with stacks that grow and shrink, while the garbage
//	                             collector runs all the time
//	gowaits spin N SECONDS       N that never wait
//	gowaits gauge N SECONDS      N that wait, and one that reads the clock all the time: each byte of
//	                             standard input is answered with "gap NS", the longest time that it
//	                             has not run since the last answer
//
// When all have reached their places, it prints "ready".  It ends when its standard input does.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	started int64
	full    = make(chan int)
	empty   = make(chan int)
	never   chan int
	held    sync.Mutex
	reading sync.RWMutex
	writing sync.RWMutex
	lock    sync.Mutex
	cond    = sync.NewCond(&lock)
	group   sync.WaitGroup
	pipes   [2]int
	sink    int64

	longestGap int64
)

func begin() { atomic.AddInt64(&started, 1) }

func receive(i int)    { begin(); <-empty }
func send(i int)       { begin(); full <- i }
func nilReceive(i int) { begin(); <-never }
func nilSend(i int)    { begin(); never <- i }
func choose(i int) {
	begin()
	select {
	case <-empty:
	case full <- i:
	}
}
func forever(i int)   { begin(); select {} }
func mutex(i int)     { begin(); held.Lock() }
func readLock(i int)  { begin(); writing.RLock() }
func writeLock(i int) { begin(); reading.Lock() }
func condition(i int) {
	lock.Lock()
	begin()
	cond.Wait()
}
func waitGroup(i int) { begin(); group.Wait() }
func sleep(i int)     { begin(); time.Sleep(time.Hour) }
func blocked(i int) {
	var b [1]byte
	begin()
	syscall.Read(pipes[0], b[:])
}
func locked(i int) {
	runtime.LockOSThread()
	begin()
	<-empty
}
func labelled(i int) {
	labels := pprof.Labels("kind", "labelled", "number", strconv.Itoa(i))
	pprof.Do(context.Background(), labels, func(context.Context) {
		begin()
		<-empty
	})
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		begin()
		<-empty
		return 0
	}
	return deep(n-1) + 1
}

// Calls that the compiler inlines.
func inlined2(i int) { begin(); <-empty }
func inlined1(i int) { inlined2(i) }
func inlined(i int)  { inlined1(i) }

type waiter struct{ c chan int }

func (w waiter) wait(i int) { begin(); <-w.c }

type waits interface{ wait(int) }

func method(i int) {
	var w waits = &waiter{empty}
	w.wait(i)
}

func deferred(i int) {
	defer func() {
		recover()
		begin()
		<-empty
	}()
	panic("waits in a deferred call")
}

func listen() func(int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return receive
	}
	return func(i int) {
		begin()
		l.Accept()
	}
}

func dump(file string) {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	if err := os.WriteFile(file, buf, 0644); err != nil {
		panic(err)
	}
}

func await(n int) {
	for atomic.LoadInt64(&started) < int64(n) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
}

// Prints and ends with standard input, in a goroutine that the tests leave out.
func attend(n int, file string) {
	await(n)
	if file != "" {
		runtime.GC()
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
		dump(file)
	}
	fmt.Println("ready")
	var b [1]byte
	for {
		if n, _ := syscall.Read(0, b[:]); n <= 0 {
			os.Exit(0)
		}
		fmt.Println("gap", atomic.SwapInt64(&longestGap, 0))
	}
}

//go:noinline
func nap(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }

//go:noinline
func first() { nap(1) }

//go:noinline
func second() { nap(2) }

//go:noinline
func third(n int) {
	if n > 0 {
		third(n - 1)
		return
	}
	nap(3)
}

func move(i int, end time.Time) {
	begin()
	for time.Now().Before(end) {
		first()
		second()
	}
}

func churn(i int, end time.Time) {
	begin()
	for time.Now().Before(end) {
		first()
		third(i % 100)
	}
}

func spin(i int, end time.Time) {
	begin()
	for time.Now().Before(end) {
		for k := int64(0); k < 1000000; k++ {
			sink ^= k
		}
	}
}

func gauge(end time.Time) {
	for last, now := time.Now(), time.Now(); now.Before(end); last, now = now, time.Now() {
		if gap := int64(now.Sub(last)); gap > atomic.LoadInt64(&longestGap) {
			atomic.StoreInt64(&longestGap, gap)
		}
	}
}

func main() {
	mode := os.Args[1]
	n, _ := strconv.Atoi(os.Args[2])
	if mode != "wait" {
		seconds, _ := strconv.Atoi(os.Args[3])
		end := time.Now().Add(time.Duration(seconds) * time.Second)
		go attend(n, "")
		if mode == "gauge" {
			go gauge(end)
			for i := 0; i < n; i++ {
				go receive(i)
			}
			<-empty
		}
		for i := 0; i < n; i++ {
			go map[string]func(int, time.Time){"move": move, "churn": churn, "spin": spin}[mode](i, end)
		}
		for mode == "churn" {
			runtime.GC()
		}
		<-empty
	}
	depth, _ := strconv.Atoi(os.Args[3])
	if syscall.Pipe(pipes[:]) != nil {
		panic("no pipe")
	}
	held.Lock()
	reading.RLock()
	writing.Lock()
	group.Add(1)
	kinds := []func(int){
		receive, send, nilReceive, nilSend, choose, forever, mutex, readLock, writeLock, condition,
		waitGroup, sleep, listen(), blocked, locked, labelled, inlined, method, deferred,
		func(i int) { deep(depth) },
	}
	threads := 0
	for i := 0; i < n; i++ {
		kind := i % len(kinds)
		if kind == 13 || kind == 14 {
			// each takes a thread
			if threads++; threads > 40 {
				kind = 0
			}
		}
		if kind == 19 && i > 400 {
			kind = 1
		}
		go kinds[kind](i)
	}
	go attend(n, os.Args[4])
	<-empty
}
