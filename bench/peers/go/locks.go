package main

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// sync.Mutex lets the running goroutine overtake those that sleep, until one has waited for a
// millisecond; then it serves in order. sync.RWMutex lets a writer wait for the readers that came
// before it, and those after it for the writer.
var lockCases = []benchCase{
	{"alone-mutex", "sync", 1, aloneMutex},
	{"alone-read", "sync", 1, aloneRead},
	{"alone-write", "sync", 1, aloneWrite},
	{"mutex", "sync", 0, mutex},
	{"rwlock", "sync", 0, rwlock},
	{"cycles", "sync", 0, cyclesMutex},
}

func aloneMutex(o options) outcome {
	var mu sync.Mutex
	return crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			mu.Lock()
			//lint:ignore SA2001 nothing is to be done
			mu.Unlock()
		}
		return 0
	}}.run()
}

func aloneRead(o options) outcome {
	var mu sync.RWMutex
	return crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			mu.RLock()
			//lint:ignore SA2001 nothing is to be done
			mu.RUnlock()
		}
		return 0
	}}.run()
}

func aloneWrite(o options) outcome {
	var mu sync.RWMutex
	return crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			mu.Lock()
			//lint:ignore SA2001 nothing is to be done
			mu.Unlock()
		}
		return 0
	}}.run()
}

func mutex(o options) outcome {
	var mu sync.Mutex
	var count uint64
	out := crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			mu.Lock()
			count++
			mu.Unlock()
		}
		return 0
	}}.run()
	require(count == inAll(o), "one goroutine at a time has the lock")
	return out
}

func rwlock(o options) outcome {
	var mu sync.RWMutex
	var count uint64
	out := crew{options: o, work: func(index int, operations uint64) (seen uint64) {
		for i := uint64(0); i < operations; i++ {
			if index < o.amount {
				mu.Lock()
				count++
				mu.Unlock()
				continue
			}
			mu.RLock()
			require(count >= seen, "a reader sees what it has seen before, or more")
			seen = count
			mu.RUnlock()
		}
		return seen
	}}.run()
	all := inAll(o) / uint64(o.tasks) * uint64(o.amount)
	require(count == all, "one writer at a time has the lock")
	return out
}

func cyclesMutex(o options) outcome {
	var mu sync.Mutex
	var count uint64
	out := crew{options: o, countsAllocations: true, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			mu.Lock()
			seen := count // whoever else had it meanwhile would be overwritten
			runtime.Gosched()
			count = seen + 1
			mu.Unlock()
		}
		return 0
	}}.run()
	require(count == inAll(o), "one goroutine at a time has the lock")
	return out
}

// A channel as a semaphore, as Go's own documentation has it: a place in its buffer is a permit, to
// send takes one, to receive gives it back. In order of arrival.
var semCases = []benchCase{
	{"alone-sem", "chan", 1, aloneChanSem},
	{"sem", "chan", 0, semChan},
	{"held", "chan", 0, heldChan},
	{"pingpong", "chan", 2, pingpongChanSem},
}

func aloneChanSem(o options) outcome {
	o.amount = 1
	return semChan(o)
}

func semChan(o options) outcome {
	sem := make(chan struct{}, o.amount)
	out := crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			sem <- struct{}{}
			<-sem
		}
		return 0
	}}.run()
	require(len(sem) == 0, "every permit was given back")
	return out
}

func heldChan(o options) outcome {
	sem := make(chan struct{}, o.amount)
	out := crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			sem <- struct{}{}
			runtime.Gosched()
			<-sem
		}
		return 0
	}}.run()
	require(len(sem) == 0, "every permit was given back")
	return out
}

// Here to send gives a permit, and to receive takes it. Member 0 serves: it gives first, and the
// other gives when it has received.
func pingpongChanSem(o options) outcome {
	sems := [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	out := crew{options: o, work: func(index int, operations uint64) uint64 {
		mine, other := sems[index], sems[1-index]
		for i := uint64(0); i < operations; i++ {
			if index == 0 {
				other <- struct{}{}
			}
			<-mine
			if index == 1 {
				other <- struct{}{}
			}
		}
		return 0
	}}.run()
	require(len(sems[0])+len(sems[1]) == 0, "what was given was taken")
	return out
}

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
