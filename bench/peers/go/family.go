package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// What is neither a lock nor a channel in other libraries: in Go often a channel of one place, or
// one that is closed. Two goroutines, of which one waits; nobody waits: family_alone.go; several
// wait: below.
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

// Rounds of several goroutines: one sends and the others receive, or all meet.
var familyRoundsCases = []benchCase{
	{"broadcast", "chan", 0, broadcast},
	{"watch", "chan", 0, watchRounds},
	{"barrier", "sync", 0, barrierRounds},
	{"once", "sync", 0, onceRounds},
	{"latch", "sync", 0, latchRounds},
}

// A round is an operation of all tasks.
func rounds(c crew) outcome {
	return c.run().scaled(float64(c.options.tasks))
}

// Member 0 sends, the others wait. It yields until all of them have heard of it: with one worker,
// once.
func sendToAll(o options, begin func(), send func(uint64),
	receive func(index int) func() uint64) outcome {
	var heard uint64
	return rounds(crew{options: o, begin: func(uint64) {
		heard = 0
		begin()
	}, work: func(index int, operations uint64) (sum uint64) {
		if index == 0 {
			for i := uint64(1); i <= operations; i++ {
				send(i)
				for atomic.LoadUint64(&heard) < i*uint64(o.tasks-1) {
					runtime.Gosched()
				}
			}
			return operations
		}
		next := receive(index)
		for i := uint64(1); i <= operations; i++ {
			if next() == i {
				sum++
			}
			atomic.AddUint64(&heard, 1)
		}
		return sum
	}, check: allCounted})
}

// There is no broadcast of values: each receiver has a channel.
func broadcast(o options) outcome {
	receivers := make([]chan uint64, o.tasks-1)
	for i := range receivers {
		receivers[i] = make(chan uint64, 16)
	}
	return sendToAll(o, func() {}, func(value uint64) {
		for _, c := range receivers {
			c <- value
		}
	}, func(index int) func() uint64 {
		mine := receivers[index-1]
		return func() uint64 { return <-mine }
	})
}

// The latest value; each send closes the channel of those who have seen the one before.
type watch struct {
	mu      sync.Mutex
	value   uint64
	changed chan struct{}
}

func newWatch() *watch {
	return &watch{changed: make(chan struct{})}
}

func (w *watch) send(value uint64) {
	w.mu.Lock()
	w.value = value
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
}

func (w *watch) get() (uint64, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.value, w.changed
}

func watchRounds(o options) outcome {
	w := newWatch()
	seen := make([]<-chan struct{}, o.tasks)
	return sendToAll(o, func() {
		for i := range seen { // nobody misses the first
			_, seen[i] = w.get()
		}
	}, w.send, func(index int) func() uint64 {
		changed := seen[index]
		return func() (value uint64) {
			<-changed
			value, changed = w.get()
			return value
		}
	})
}

// As one makes it of a condition variable.
type barrier struct {
	mu             sync.Mutex
	open           *sync.Cond
	count, arrived int
	round          uint64
}

func newBarrier(count int) *barrier {
	b := &barrier{count: count}
	b.open = sync.NewCond(&b.mu)
	return b
}

// Returns whether this is the leader.
func (b *barrier) wait() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arrived++; b.arrived == b.count {
		b.arrived = 0
		b.round++
		b.open.Broadcast()
		return true
	}
	for round := b.round; round == b.round; {
		b.open.Wait()
	}
	return false
}

func add(sums []uint64) (sum uint64) {
	for _, s := range sums {
		sum += s
	}
	return sum
}

func barrierRounds(o options) outcome {
	b := newBarrier(o.tasks)
	return rounds(crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			if b.wait() {
				sum++
			}
		}
		return sum
	}, check: func(operations uint64, sums []uint64) {
		require(add(sums) == operations, "a round has one leader")
	}})
}

// Who comes first begins, and yields, so that the others come and wait.
func onceRounds(o options) outcome {
	type round struct {
		once  sync.Once
		value uint64
	}
	var all []round
	return rounds(crew{options: o, begin: func(operations uint64) {
		all = make([]round, operations)
	}, work: func(_ int, operations uint64) (sum uint64) {
		for i := range all {
			r := &all[i]
			r.once.Do(func() {
				runtime.Gosched()
				r.value = uint64(i) + 1
				sum++
			})
			require(r.value == uint64(i)+1, "who finds it done sees what was done")
		}
		return sum
	}, check: func(operations uint64, sums []uint64) {
		require(add(sums) == operations, "it is done once in a round")
	}})
}

// Member 0 opens the start for the others, and waits until all of them have counted down.
func latchRounds(o options) outcome {
	type round struct {
		start, end sync.WaitGroup
		value      uint64
	}
	var all []round
	return rounds(crew{options: o, begin: func(operations uint64) {
		all = make([]round, operations)
		for i := range all {
			all[i].start.Add(1)
			all[i].end.Add(o.tasks - 1)
		}
	}, work: func(index int, operations uint64) (sum uint64) {
		for i := range all {
			r := &all[i]
			if index == 0 {
				r.value = uint64(i) + 1
				r.start.Done()
				r.end.Wait()
				sum++
				continue
			}
			r.start.Wait()
			if r.value == uint64(i)+1 {
				sum++
			}
			r.end.Done()
		}
		return sum
	}, check: allCounted})
}
