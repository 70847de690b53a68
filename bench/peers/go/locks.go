package main

import (
	"runtime"
	"sync"
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
