package main

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// A goroutine that waits does nothing else, and Go has no call that waits for one turn of the
// scheduler. So if there is no permit at once, one starts another goroutine that lets the others
// run once and then cancels: that is what comes nearest to a future that is polled, and dropped if
// it is still not ready after one yield. It costs a goroutine, and a context or a channel, for each
// such acquire that has to wait, as it does in any program that cancels from outside.
var cancelCases = []benchCase{
	{"cancel", "xsync", 0, cancelXsync},
	{"cancel", "chan", 0, cancelChan},
}

func cancelXsync(o options) outcome {
	sem := semaphore.NewWeighted(1)
	return cancel(o, func() { acquire(sem) }, func() bool {
		if sem.TryAcquire(1) {
			return true
		}
		patience, giveUp := context.WithCancel(background)
		go func() {
			runtime.Gosched()
			giveUp()
		}()
		return sem.Acquire(patience, 1) == nil
	}, func() { sem.Release(1) })
}

func cancelChan(o options) outcome {
	sem := make(chan struct{}, 1)
	return cancel(o, func() { sem <- struct{}{} }, func() bool {
		select {
		case sem <- struct{}{}:
			return true
		default:
		}
		givenUp := make(chan struct{})
		go func() {
			runtime.Gosched()
			close(givenUp)
		}()
		select {
		case sem <- struct{}{}:
			return true
		case <-givenUp:
			return false
		}
	}, func() { <-sem })
}

// Whether attempt k is one of the o.amount per cent, which are spread evenly.
func isImpatient(o options, k uint64) bool {
	share := uint64(o.amount)
	return k*share/100 != (k+1)*share/100
}

func cancel(o options, take func(), takeOrGiveUp func() bool, give func()) outcome {
	var isTaken bool // both are protected by the permit
	var served uint64
	var lost uint64 // in the last run
	attempt := func(k uint64) bool {
		if isImpatient(o, k) {
			if !takeOrGiveUp() {
				return false
			}
		} else {
			take()
		}
		require(!isTaken, "one goroutine at a time has the permit")
		isTaken = true
		runtime.Gosched()
		isTaken = false
		served++
		give()
		return true
	}
	out := crew{options: o, begin: func(uint64) { served = 0 },
		work: func(_ int, operations uint64) (missed uint64) {
			for k := uint64(0); k < operations; k++ {
				if !attempt(k) {
					missed++
				}
			}
			return missed
		}, check: func(operations uint64, missed []uint64) {
			lost = 0
			for _, n := range missed {
				lost += n
			}
			require(served+lost == operations*uint64(o.tasks), "an acquire is served or given up")
		}}.run()
	return append(out, field{"lost", float64(lost) / float64(o.operations) / float64(o.tasks)})
}
