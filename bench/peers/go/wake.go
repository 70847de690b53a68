package main

import (
	"bytes"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
)

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
