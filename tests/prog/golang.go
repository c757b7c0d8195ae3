// Two threads that spend their time in inlined calls; for MS milliseconds of real time.
package main

import (
	"fmt"
	"sort"
	"time"
)

func leaf(x, i uint64) uint64 { // inlined
	return x*31 + i
}

func middle(x, n uint64) uint64 { // inlined
	for i := uint64(0); i < n; i++ {
		x = leaf(x, i)
	}
	return x
}

//go:noinline
func outer(n uint64) uint64 {
	return middle(7, n)
}

type byLen []string

func (b byLen) Len() int           { return len(b) }
func (b byLen) Less(i, j int) bool { return len(b[i]) < len(b[j]) }
func (b byLen) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func main() {
	end := time.Now().Add(600 * time.Millisecond)
	var x uint64
	done := make(chan uint64)
	go func() {
		var y uint64
		for time.Now().Before(end) {
			y += outer(100000)
			s := byLen{"a", "bbb", "cc", "dddd", "e"}
			sort.Sort(s)
		}
		done <- y
	}()
	for time.Now().Before(end) {
		x += outer(100000)
	}
	fmt.Println(x + <-done)
}
