package main

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// The semaphore of golang.org/x/sync: in order of arrival.
var xsyncCases = []benchCase{
	{"alone-sem", "xsync", 1, aloneXsync},
	{"sem", "xsync", 0, semXsync},
	{"held", "xsync", 0, heldXsync},
	{"pingpong", "xsync", 2, pingpongXsync},
	{"cycles", "xsync", 0, cyclesXsync},
}

var background = context.Background()

func acquire(sem *semaphore.Weighted) {
	require(sem.Acquire(background, 1) == nil, "a permit is acquired")
}

func allAreBack(sem *semaphore.Weighted, permits int) {
	require(sem.TryAcquire(int64(permits)), "every permit was given back")
}

func aloneXsync(o options) outcome {
	o.amount = 1
	return semXsync(o)
}

func semXsync(o options) outcome {
	sem := semaphore.NewWeighted(int64(o.amount))
	out := crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			acquire(sem)
			sem.Release(1)
		}
		return 0
	}}.run()
	allAreBack(sem, o.amount)
	return out
}

func heldXsync(o options) outcome {
	sem := semaphore.NewWeighted(int64(o.amount))
	out := crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			acquire(sem)
			runtime.Gosched()
			sem.Release(1)
		}
		return 0
	}}.run()
	allAreBack(sem, o.amount)
	return out
}

// Member 0 serves: it gives first, and the other gives when it has received.
func pingpongXsync(o options) outcome {
	var sems [2]*semaphore.Weighted
	for i := range sems { // no permits at first
		sems[i] = semaphore.NewWeighted(1)
		acquire(sems[i])
	}
	out := crew{options: o, work: func(index int, operations uint64) uint64 {
		mine, other := sems[index], sems[1-index]
		for i := uint64(0); i < operations; i++ {
			if index == 0 {
				other.Release(1)
			}
			acquire(mine)
			if index == 1 {
				other.Release(1)
			}
		}
		return 0
	}}.run()
	for i := range sems {
		require(!sems[i].TryAcquire(1), "what was given was taken")
	}
	return out
}

func cyclesXsync(o options) outcome {
	sem := semaphore.NewWeighted(1)
	var count uint64
	out := crew{options: o, countsAllocations: true, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			acquire(sem)
			seen := count // whoever else had it meanwhile would be overwritten
			runtime.Gosched()
			count = seen + 1
			sem.Release(1)
		}
		return 0
	}}.run()
	require(count == inAll(o), "one goroutine at a time has the permit")
	allAreBack(sem, 1)
	return out
}
