package main

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

var familyAloneCases = []benchCase{
	{"alone-notify", "chan", 1, aloneNotify},
	{"alone-oneshot", "chan", 1, aloneOneshot},
	{"alone-broadcast", "chan", 1, aloneBroadcast},
	{"alone-watch", "chan", 1, aloneWatch},
	{"alone-barrier", "sync", 1, aloneBarrier},
	{"alone-once", "sync", 1, aloneOnce},
	{"alone-latch", "sync", 1, aloneLatch},
	{"alone-cond", "sync", 1, aloneCond},
	{"alone-token", "context", 1, aloneToken},
	{"alone-all", "xsync", 1, aloneAll},
}

// notify one, and wait, which is over at once
func aloneNotify(o options) outcome {
	c := make(chan struct{}, 1)
	return crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			tell(c)
			<-c
			sum++
		}
		return sum
	}, check: allCounted}.run()
}

// a life: made, sent, received
func aloneOneshot(o options) outcome {
	return crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			c := make(chan uint64, 1)
			c <- i
			if <-c == i {
				sum++
			}
		}
		return sum
	}, check: allCounted}.run()
}

// send to one receiver, receive
func aloneBroadcast(o options) outcome {
	receivers := []chan uint64{make(chan uint64, 16)}
	return crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			for _, c := range receivers {
				c <- i
			}
			if <-receivers[0] == i {
				sum++
			}
		}
		return sum
	}, check: allCounted}.run()
}

// send, await the change, look
func aloneWatch(o options) outcome {
	w := newWatch()
	return crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		_, changed := w.get()
		for i := uint64(0); i < operations; i++ {
			w.send(i)
			<-changed
			var value uint64
			value, changed = w.get()
			if value == i {
				sum++
			}
		}
		return sum
	}, check: allCounted}.run()
}

// a barrier for one
func aloneBarrier(o options) outcome {
	b := newBarrier(1)
	return crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			if b.wait() {
				sum++
			}
		}
		return sum
	}, check: allCounted}.run()
}

// come when it is done
func aloneOnce(o options) outcome {
	var once sync.Once
	calls := 0
	out := crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			once.Do(func() { calls++ })
		}
		return operations
	}}.run()
	require(calls == 1, "it was done once")
	return out
}

// a life: made for one, counted down, awaited
func aloneLatch(o options) outcome {
	return crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			var left sync.WaitGroup
			left.Add(1)
			left.Done()
			left.Wait()
		}
		return operations
	}}.run()
}

// signal, without the mutex
func aloneCond(o options) outcome {
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	return crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			c.Signal()
		}
		return operations
	}}.run()
}

// is it cancelled?
func aloneToken(o options) outcome {
	t := newToken()
	defer t.cancel()
	return crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			if t.Err() == nil {
				sum++
			}
		}
		return sum
	}, check: allCounted}.run()
}

// acquire all, release them
func aloneAll(o options) outcome {
	const permits = 8
	sem := semaphore.NewWeighted(permits)
	return crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			if sem.Acquire(context.Background(), permits) == nil {
				sum++
			}
			sem.Release(permits)
		}
		return sum
	}, check: allCounted}.run()
}
