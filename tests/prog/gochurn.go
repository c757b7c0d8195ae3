// Two goroutines that produce garbage for a second: the runtime does much of its work for them on
// the stacks of its threads.
package main

import (
	"fmt"
	"time"
)

type node struct {
	next *node
	data [6]uintptr
}

var end time.Time
var done = make(chan int)

//go:noinline
func grow(n int) *node {
	var first *node
	for i := 0; i < n; i++ {
		first = &node{next: first}
	}
	return first
}

//go:noinline
func left(n int) int {
	return len(grow(n).data)
}

//go:noinline
func right(n int) int {
	return len(grow(n).data)
}

func workLeft() {
	n := 0
	for time.Now().Before(end) {
		n += left(20000)
	}
	done <- n
}

func workRight() {
	n := 0
	for time.Now().Before(end) {
		n += right(30000)
	}
	done <- n
}

func main() {
	end = time.Now().Add(1000 * time.Millisecond)
	go workLeft()
	go workRight()
	fmt.Println(<-done + <-done)
}
