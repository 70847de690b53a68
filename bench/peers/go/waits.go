package main

import (
	"bytes"
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

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

// locked: both goroutines have a thread of their own, as when one calls into C: what is given has
// to reach that thread. free: whichever thread comes first runs the goroutine, as Go is mostly
// used; that may be the giver's, when it has nothing better to do.
var wakeCases = []benchCase{
	{"wake", "locked", 2, func(o options) outcome { return wake(o, true) }},
	{"wake", "free", 2, func(o options) outcome { return wake(o, false) }},
}

const (
	asleepNs  = 100_000
	patientNs = 10_000_000_000
)

// How this process's threads are.
type threads struct {
	directory int
	buffer    [4096]byte
}

func openThreads() *threads {
	directory, err := syscall.Open("/proc/self/task", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	require(err == nil, "/proc/self/task can be read")
	return &threads{directory: directory}
}

func (t *threads) isAsleep(thread string) bool {
	file, err := syscall.Open("/proc/self/task/"+thread+"/stat", syscall.O_RDONLY, 0)
	if err != nil {
		return true // it has ended
	}
	n, err := syscall.Read(file, t.buffer[:])
	syscall.Close(file)
	if err != nil || n <= 0 {
		return true
	}
	after := bytes.LastIndex(t.buffer[:n], []byte(") "))
	return after >= 0 && after+2 < n && t.buffer[after+2] == 'S'
}

func (t *threads) names() (names []string) {
	_, err := syscall.Seek(t.directory, 0, 0)
	require(err == nil, "/proc/self/task can be read again")
	for {
		n, err := syscall.ReadDirent(t.directory, t.buffer[:])
		require(err == nil, "/proc/self/task can be listed")
		if n <= 0 {
			return names
		}
		_, _, names = syscall.ParseDirent(t.buffer[:n], -1, names)
	}
}

// All threads but that of the caller: so it does not matter which of them will be woken.
func (t *threads) othersAreAsleep() bool {
	runtime.LockOSThread() // or it would be another one meanwhile
	defer runtime.UnlockOSThread()
	own := strconv.Itoa(syscall.Gettid())
	for _, name := range t.names() {
		if name != own && !t.isAsleep(name) {
			return false
		}
	}
	return true
}

// Until what was given has been taken, and the taker has waited again for so long that the kernel
// has let its core go idle. The giver is awake all the time.
func (t *threads) awaitSleep(taken *atomic.Uint64, given uint64) {
	start := now()
	for taken.Load() < given {
		require(now()-start < patientNs, "what is given is taken")
		runtime.Gosched() // the taker may have been made ready on this processor
	}
	for {
		asleep := now()
		require(asleep-start < patientNs, "the one who waits goes to sleep")
		if !t.othersAreAsleep() {
			continue
		}
		for now()-asleep < asleepNs {
		}
		if t.othersAreAsleep() {
			return
		}
	}
}

func wake(o options, locked bool) outcome {
	stamps, over := make(chan int64), make(chan struct{})
	var taken atomic.Uint64
	var waits histogram
	unmeasured := o.operations / 8
	go func() {
		if locked {
			runtime.LockOSThread()
		}
		for stamp := range stamps {
			wait := now() - stamp
			if taken.Load() >= unmeasured {
				waits.add(wait)
			}
			taken.Add(1)
		}
		close(over)
	}()
	if locked {
		runtime.LockOSThread()
	}
	all := openThreads()
	for i := uint64(0); i < o.operations; i++ {
		all.awaitSleep(&taken, i)
		stamps <- now()
	}
	close(stamps)
	<-over
	require(waits.count == o.operations-unmeasured, "every stamp was taken")
	return append(outcome{{"ns", waits.quantile(0.5)}}, waits.told()...)
}

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
