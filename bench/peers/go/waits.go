package main

import (
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

var waitsCases = []benchCase{
	{"waits", "sync", 0, waitsMutex},
	{"waits", "xsync", 0, waitsXsync},
	{"waits", "chan", 0, waitsChan},
}

// A lock that everybody wants.
type wanted struct {
	take, give func()
	work       int64  // ns
	left       uint64 // the lock protects it
	each       []waiting
}

// What one of them has seen.
type waiting struct {
	waits histogram
	done  uint64
	_     [64]byte
}

func waitsMutex(o options) outcome {
	var mu sync.Mutex
	return waits(o, mu.Lock, mu.Unlock)
}

func waitsXsync(o options) outcome {
	sem := semaphore.NewWeighted(1)
	return waits(o, func() { acquire(sem) }, func() { sem.Release(1) })
}

func waitsChan(o options) outcome {
	sem := make(chan struct{}, 1)
	return waits(o, func() { sem <- struct{}{} }, func() { <-sem })
}

func waits(o options, take, give func()) outcome {
	w := &wanted{take: take, give: give, work: int64(o.amount)}
	begin := func(operations uint64) {
		w.left = operations * uint64(o.tasks)
		w.each = make([]waiting, o.tasks)
	}
	member := func(index int, _ uint64) uint64 {
		return w.untilAllIsDone(&w.each[index])
	}
	out := crew{options: o, begin: begin, work: member, check: w.check}.run()
	return append(out, w.told()...)
}

// How long the take took is noted when the lock is given back.
func (w *wanted) untilAllIsDone(own *waiting) uint64 {
	for {
		asked := now()
		w.take()
		taken := now()
		if w.left == 0 {
			w.give()
			return own.done
		}
		w.left--
		for now()-taken < w.work {
		}
		w.give()
		own.done++
		own.waits.add(taken - asked)
		runtime.Gosched()
	}
}

func (w *wanted) check(operations uint64, done []uint64) {
	var sum uint64
	for _, n := range done {
		sum += n
	}
	require(sum == operations*uint64(len(done)), "together they have done what there was")
}

func (w *wanted) told() outcome {
	var all histogram
	least, most := w.each[0].done, w.each[0].done
	for i := range w.each {
		all.merge(&w.each[i].waits)
		if w.each[i].done < least {
			least = w.each[i].done
		}
		if w.each[i].done > most {
			most = w.each[i].done
		}
	}
	return append(all.told(), field{"slowest_share", float64(least) / float64(most)})
}
