// Writes Go's own profiles of a small program: cpu, heap, allocs, mutex, block, goroutine,
// threadcreate.  Usage: goprofiles FOLDER
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

var kept [][]byte
var mu sync.Mutex

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func hash(d time.Duration) (s [32]byte) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		s = sha256.Sum256([]byte(strings.Repeat("x", 5000)))
	}
	return s
}

func allocate() {
	for i := 0; i < 400; i++ {
		kept = append(kept, make([]byte, 1000*(i%20+1)))
	}
}

func contend(wg *sync.WaitGroup) {
	defer wg.Done()
	for i := 0; i < 20; i++ {
		mu.Lock()
		time.Sleep(200 * time.Microsecond)
		mu.Unlock()
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder, name string) {
	f, err := os.Create(filepath.Join(folder, "go-"+name+".pb.gz"))
	check(err)
	check(pprof.Lookup(name).WriteTo(f, 0))
	check(f.Close())
}

func main() {
	folder := os.Args[1]
	runtime.MemProfileRate = 512
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	f, err := os.Create(filepath.Join(folder, "go-cpu.pb.gz"))
	check(err)
	check(pprof.StartCPUProfile(f))
	var wg sync.WaitGroup
	for _, kind := range []string{"fib", "hash"} {
		wg.Add(1)
		go func(kind string) {
			defer wg.Done()
			pprof.Do(context.Background(), pprof.Labels("kind", kind), func(context.Context) {
				if kind == "hash" {
					hash(300 * time.Millisecond)
					return
				}
				for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
					fib(20)
				}
			})
		}(kind)
	}
	wg.Wait()
	pprof.StopCPUProfile()
	check(f.Close())
	allocate()
	wg.Add(4)
	for i := 0; i < 4; i++ {
		go contend(&wg)
	}
	wg.Wait()
	blocked := make(chan int)
	for i := 0; i < 5; i++ {
		go func() { <-blocked }()
	}
	time.Sleep(10 * time.Millisecond)
	for _, name := range []string{"heap", "allocs", "mutex", "block", "goroutine", "threadcreate"} {
		write(folder, name)
	}
	runtime.KeepAlive(kept)
}
