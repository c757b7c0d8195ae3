// Goroutines whose functions prove their labels: burnN runs with the label handler=burnN only.
//
//	golabels switch EVERY_US SECONDS    four labels in turn, in each of two goroutines
//	golabels do EVERY_US SECONDS        the same by pprof.Do, with new sets each time
//	golabels request EVERY_US SECONDS   the same, each time in a new goroutine, and in assembly
//	golabels inherit EVERY_US SECONDS   goroutines that do not set labels; their creators do
//	golabels rate PER_SECOND SECONDS    one goroutine; prints how much work it has done, how
//	                                    often it has set labels, and its CPU time in ns
//	golabels wait EVERY_US SECONDS      system calls that wait, with a label
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var (
	sink   [8]uint64
	hashes bool
	buffer [2048]byte
)

//go:noinline
func work(n int) uint64 {
	x := uint64(n)
	if hashes {
		return x + uint64(sha256.Sum256(buffer[:])[0])
	}
	for i := 0; i < 200; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func burn0(d time.Duration) {
	for t := time.Now(); time.Since(t) < d; {
		sink[0] += work(0)
	}
}

//go:noinline
func burn1(d time.Duration) {
	for t := time.Now(); time.Since(t) < d; {
		sink[1] += work(1)
	}
}

//go:noinline
func burn2(d time.Duration) {
	for t := time.Now(); time.Since(t) < d; {
		sink[2] += work(2)
	}
}

//go:noinline
func burn3(d time.Duration) {
	for t := time.Now(); time.Since(t) < d; {
		sink[3] += work(3)
	}
}

var burn = []func(time.Duration){burn0, burn1, burn2, burn3}

func labels(i int) pprof.LabelSet {
	return pprof.Labels("handler", "burn"+strconv.Itoa(i), "kind", "test")
}

func contexts() []context.Context {
	var c []context.Context
	for i := range burn {
		c = append(c, pprof.WithLabels(context.Background(), labels(i)))
	}
	return c
}

func switching(every time.Duration, end time.Time, first int) {
	c := contexts()
	for i := first; time.Now().Before(end); i++ {
		pprof.SetGoroutineLabels(c[i%4])
		burn[i%4](every)
	}
}

func doing(every time.Duration, end time.Time, first int) {
	for i := first; time.Now().Before(end); i++ {
		k := i % 4
		pprof.Do(context.Background(), labels(k), func(context.Context) { burn[k](every) })
	}
}

func requesting(every time.Duration, end time.Time, first int) {
	hashes = true
	for i := first; time.Now().Before(end); i++ {
		var done sync.WaitGroup
		k := i % 4
		done.Add(1)
		go func() {
			defer done.Done()
			sink[4] += work(k) // now the stack is large enough
			pprof.Do(context.Background(), labels(k), func(context.Context) { burn[k](every) })
		}()
		done.Wait()
	}
}

func inheriting(every time.Duration, end time.Time, first int) {
	c := contexts()
	for i := first; time.Now().Before(end); i++ {
		var done sync.WaitGroup
		k := i % 4
		pprof.SetGoroutineLabels(c[k])
		done.Add(1)
		go func() {
			defer done.Done()
			burn[k](every)
		}()
		done.Wait()
	}
}

//go:noinline
func pause(every time.Duration) {
	t := syscall.NsecToTimespec(int64(every))
	syscall.Nanosleep(&t, nil)
}

func waiting(every time.Duration, end time.Time, first int) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("handler", "pause")))
	for time.Now().Before(end) {
		pause(every)
	}
}

func rate(perSecond int, end time.Time) {
	c := contexts()
	n, begin := 0, time.Now()
	for i := 0; ; i++ {
		sink[0] += work(i)
		if i%8 != 0 {
			continue
		}
		now := time.Now()
		if now.After(end) {
			var used syscall.Rusage
			syscall.Getrusage(syscall.RUSAGE_SELF, &used)
			fmt.Println(i, n, used.Utime.Nano()+used.Stime.Nano())
			return
		}
		for due := int(now.Sub(begin).Seconds() * float64(perSecond)); n < due; n++ {
			pprof.SetGoroutineLabels(c[n%4])
		}
	}
}

func main() {
	number, _ := strconv.Atoi(os.Args[2])
	seconds, _ := strconv.ParseFloat(os.Args[3], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	every := time.Duration(number) * time.Microsecond
	run := map[string]func(time.Duration, time.Time, int){
		"switch": switching, "do": doing, "request": requesting, "inherit": inheriting,
		"wait": waiting,
	}[os.Args[1]]
	if run == nil {
		rate(number, end)
		return
	}
	var done sync.WaitGroup
	for i := 0; i < 2; i++ {
		done.Add(1)
		go func(i int) {
			defer done.Done()
			run(every, end, i)
		}(i)
	}
	done.Wait()
}
