package main

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// What is neither a lock nor a channel in other libraries: in Go often a channel of one place, or
// one that is closed. Two goroutines, of which one waits; nobody waits: family_alone.go; several
// wait: family_rounds.go.
var familyCases = []benchCase{
	{"notify", "chan", 2, notify},
	{"oneshot", "chan", 2, oneshot},
	{"token", "context", 2, cancelContext},
	{"cond", "sync", 2, cond},
	{"all", "xsync", 2, acquireAll},
}

// Every operation of every goroutine counts.
func allCounted(operations uint64, sums []uint64) {
	for _, sum := range sums {
		require(sum == operations, "every operation goes as it should")
	}
}

func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // one is stored already
	}
}

// Member 0 serves: it tells first.
func notify(o options) outcome {
	of := [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	return crew{options: o, work: func(index int, operations uint64) (sum uint64) {
		mine, other := of[index], of[1-index]
		for i := uint64(0); i < operations; i++ {
			if index == 0 {
				tell(other)
			}
			<-mine
			sum++
			if index == 1 {
				tell(other)
			}
		}
		return sum
	}, check: allCounted}.run()
}

// A number, and where the next one is awaited.
type letter struct {
	value uint64
	reply chan letter
}

// A channel is made for each hop, and sent to the one who sends the next.
func oneshot(o options) outcome {
	var first chan letter
	return crew{options: o, begin: func(uint64) {
		first = make(chan letter, 1)
	}, work: func(index int, operations uint64) (sum uint64) {
		mine, other := first, first
		for i := uint64(0); i < operations; i++ {
			if index == 0 {
				mine = make(chan letter, 1)
				other <- letter{i + 1, mine}
			}
			received := <-mine
			if received.value == i+1 {
				sum++
			}
			other = received.reply
			if index == 1 {
				mine = make(chan letter, 1)
				other <- letter{i + 1, mine}
			}
		}
		return sum
	}, check: allCounted}.run()
}

// One that can be cancelled.
type token struct {
	context.Context
	cancel context.CancelFunc
	_      [24]byte
}

func newToken() (t token) {
	t.Context, t.cancel = context.WithCancel(context.Background())
	return t
}

// A context is made for each hop: before the other one is told, who cancels it.
func cancelContext(o options) outcome {
	var of [2]token
	return crew{options: o, begin: func(uint64) {
		of[1] = newToken()
	}, work: func(index int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			if index == 0 {
				of[index] = newToken()
				of[1-index].cancel()
			}
			<-of[index].Done()
			if of[index].Err() != nil {
				sum++
			}
			if index == 1 {
				of[index] = newToken()
				of[1-index].cancel()
			}
		}
		return sum
	}, check: allCounted}.run()
}

func cond(o options) outcome {
	var mu sync.Mutex
	turn := 0
	of := [2]*sync.Cond{sync.NewCond(&mu), sync.NewCond(&mu)}
	return crew{options: o, work: func(index int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			mu.Lock()
			for turn != index {
				of[index].Wait()
			}
			turn = 1 - index
			sum++
			of[1-index].Signal()
			mu.Unlock()
		}
		return sum
	}, check: allCounted}.run()
}

// Member 0 takes all of the permits, the other one: held across a yield.
func acquireAll(o options) outcome {
	sem := semaphore.NewWeighted(int64(o.amount))
	var count uint64 // who has all permits counts
	out := crew{options: o, work: func(index int, operations uint64) (sum uint64) {
		permits := int64(1)
		if index == 0 {
			permits = int64(o.amount)
		}
		for i := uint64(0); i < operations; i++ {
			require(sem.Acquire(context.Background(), permits) == nil, "a permit")
			seen := count
			runtime.Gosched()
			if count == seen { // nobody has had all meanwhile
				sum++
			}
			if index == 0 {
				count = seen + 1
			}
			sem.Release(permits)
		}
		return sum
	}, check: allCounted}.run()
	require(count == inAll(o)/2, "who takes all is alone")
	return out
}
