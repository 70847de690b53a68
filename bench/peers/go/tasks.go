package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

var taskCases = []benchCase{
	{"spawn", "", 0, spawn},
	{"yield", "", 0, yield},
	{"timer", "", 1, timer},
}

func yield(o options) outcome {
	return crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			runtime.Gosched()
		}
		return 0
	}}.run()
}

// A goroutine returns nothing: it leaves its number where the one who waits for the batch finds it.
func spawn(o options) outcome {
	numbers := make([]uint64, o.tasks)
	root := o
	root.tasks = 1
	return crew{options: root, work: func(_ int, batches uint64) (sum uint64) {
		var batch sync.WaitGroup
		for b := uint64(0); b < batches; b++ {
			batch.Add(len(numbers))
			for i := range numbers {
				go func(i int) {
					numbers[i] = uint64(i) + 1
					batch.Done()
				}(i)
			}
			batch.Wait()
			for i := range numbers {
				sum += numbers[i]
				numbers[i] = 0
			}
		}
		return sum
	}, check: func(batches uint64, sums []uint64) {
		count := uint64(o.tasks)
		require(sums[0] == batches*(count*(count+1)/2), "every goroutine has run once")
	}}.run().without("overlap").scaled(1 / float64(o.tasks))
}

func timer(o options) outcome {
	pending := make([]*time.Timer, o.amount)
	for i := range pending { // none of them is due before the others by more than a second
		pending[i] = time.NewTimer(time.Hour + time.Duration(i)*time.Second/time.Duration(o.amount))
	}
	out := crew{options: o, work: func(_ int, operations uint64) (stopped uint64) {
		for i := uint64(0); i < operations; i++ {
			if time.NewTimer(time.Hour).Stop() {
				stopped++
			}
		}
		return stopped
	}, check: func(operations uint64, sums []uint64) {
		require(sums[0] == operations, "every timer was stopped before it was due")
	}}.run().without("overlap")
	for _, t := range pending {
		require(t.Stop(), "the others are still pending")
	}
	return out
}

var parkedCases = []benchCase{
	{"parked", "xsync", 0, parkedXsync},
	{"parked", "chan", 0, parkedChan},
}

func parkedXsync(o options) outcome {
	sem := semaphore.NewWeighted(1)
	acquire(sem)
	return parked(o, func() { acquire(sem) }, func() { sem.Release(1) })
}

func parkedChan(o options) outcome {
	sem := make(chan struct{}, 1)
	sem <- struct{}{}
	return parked(o, func() { sem <- struct{}{} }, func() { <-sem })
}

// With one worker a ticket that is drawn before one queues is the place in the queue, unless one is
// preempted right between, which happens to one in many thousands. A queue in another order would
// let nearly all of them be overtaken.
type queue struct {
	take, give                   func()
	tasks                        uint64
	tickets                      atomic.Uint64
	served, latest, overtaken    uint64 // the permit protects them
	allHaveTickets, allAreServed chan struct{}
}

func (q *queue) park() {
	ticket := q.tickets.Add(1)
	if ticket == q.tasks {
		close(q.allHaveTickets)
	}
	q.take()
	if ticket < q.latest {
		q.overtaken++
	}
	q.latest = ticket
	q.served++
	if q.served == q.tasks {
		close(q.allAreServed)
	}
	q.give()
}

func residentBytes() float64 {
	statm, err := os.ReadFile("/proc/self/statm")
	require(err == nil, "/proc/self/statm can be read")
	var size, resident int
	_, err = fmt.Sscan(string(statm), &size, &resident)
	require(err == nil, "/proc/self/statm has two numbers")
	return float64(resident) * float64(os.Getpagesize())
}

func parked(o options, take, give func()) outcome {
	q := &queue{take: take, give: give, tasks: uint64(o.tasks),
		allHaveTickets: make(chan struct{}), allAreServed: make(chan struct{})}
	before := residentBytes()
	for i := 0; i < o.tasks; i++ {
		go q.park()
	}
	<-q.allHaveTickets
	for i := 0; i < 3; i++ { // whoever was preempted before it queued does so now
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	count := float64(o.tasks)
	bytes := (residentBytes() - before) / count
	start, cpu := now(), cpuNs()
	q.give()
	<-q.allAreServed
	out := outcome{{"ns", float64(now()-start) / count}, {"cpu_ns", float64(cpuNs()-cpu) / count},
		{"bytes", bytes}}
	require(q.served == q.tasks, "everybody is served once")
	require(q.overtaken <= 1+q.tasks/1000, "they are served in the order in which they queued")
	return out
}

// Channels of 64-bit elements.
var chanCases = []benchCase{
	{"alone-chan", "chan", 1, aloneChan},
	{"mpmc", "chan", 0, manyToMany},
	{"spsc", "chan", 2, manyToMany},
	{"chan-pingpong", "chan", 2, pingpongChan},
}

func aloneChan(o options) outcome {
	require(o.amount > 0, "there is a place for what is sent to oneself")
	c := make(chan uint64, o.amount)
	return crew{options: o, work: func(_ int, operations uint64) (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			c <- i + 1
			sum += <-c
		}
		return sum
	}, check: func(operations uint64, sums []uint64) {
		require(sums[0] == operations*(operations+1)/2, "what was sent is received")
	}}.run()
}

func send(c chan<- uint64, index int, operations uint64) (sum uint64) {
	first := uint64(index) << 32 // a number that only this operation of this member sends
	for i := uint64(0); i < operations; i++ {
		sum += first | i
		c <- first | i
	}
	return sum
}

func receive(c <-chan uint64, operations uint64) (sum uint64) {
	for i := uint64(0); i < operations; i++ {
		sum += <-c
	}
	return sum
}

// As many receive as send. Per element: half of the members' operations.
func manyToMany(o options) outcome {
	c := make(chan uint64, o.amount)
	senders := o.tasks / 2
	return crew{options: o, work: func(index int, operations uint64) uint64 {
		if index < senders {
			return send(c, index, operations)
		}
		return receive(c, operations)
	}, check: func(_ uint64, sums []uint64) {
		var sent, received uint64
		for i, sum := range sums {
			if i < senders {
				sent += sum
			} else {
				received += sum
			}
		}
		require(sent == received && len(c) == 0, "what was sent is received")
	}}.run().scaled(2)
}

// Member 0 serves: it sends first, and the other sends back what it has received.
func pingpongChan(o options) outcome {
	channels := [2]chan uint64{make(chan uint64, o.amount), make(chan uint64, o.amount)}
	return crew{options: o, work: func(index int, operations uint64) (sum uint64) {
		mine, other := channels[index], channels[1-index]
		for i := uint64(0); i < operations; i++ {
			if index == 0 {
				other <- i + 1
				sum += <-mine
			} else {
				value := <-mine
				sum += value
				other <- value
			}
		}
		return sum
	}, check: func(operations uint64, sums []uint64) {
		all := operations * (operations + 1) / 2
		require(sums[0] == all && sums[1] == all, "what was sent is received")
	}}.run()
}
