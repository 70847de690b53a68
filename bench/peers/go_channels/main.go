// The workloads of bench-chan on Go's channels: the same command line, the same work, the same
// JSON. What each workload does is said once, in chan_bench.h. Tasks are goroutines, workers are
// GOMAXPROCS.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type options struct {
	workers, tasks, capacity int
	operations               uint64
}

type span struct {
	start, end time.Time
	sum        uint64
}

func require(so bool, what string) {
	if !so {
		fmt.Fprintln(os.Stderr, "bench-chan-go: not so:", what)
		os.Exit(1)
	}
}

func cpuNs() float64 {
	var used syscall.Rusage
	require(syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil, "the process's CPU time is known")
	return float64(used.Utime.Nano() + used.Stime.Nano())
}

// Run these, each in a goroutine of its own. Returns when each began and ended, and its sum.
func crew(works []func() uint64) []span {
	spans := make([]span, len(works))
	var all sync.WaitGroup
	all.Add(len(works))
	for i := range works {
		go func(s *span, work func() uint64) {
			start := time.Now()
			sum := work()
			*s = span{start, time.Now(), sum}
			all.Done()
		}(&spans[i], works[i])
	}
	all.Wait()
	return spans
}

func pair(o options, operations uint64) []span {
	c := make(chan uint64, o.capacity)
	spans := crew([]func() uint64{func() (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			c <- i
			sum += <-c
		}
		return
	}})
	require(spans[0].sum == operations*(operations-1)/2, "what was sent is received")
	return spans
}

// As many receive as send.
func many(o options, senders int, operations uint64) []span {
	c := make(chan uint64, o.capacity)
	var works []func() uint64
	for index := 0; index < senders; index++ {
		first := uint64(index) << 32
		works = append(works, func() (sum uint64) {
			for i := uint64(0); i < operations; i++ {
				value := first | i
				sum += value
				c <- value
			}
			return
		})
	}
	for index := 0; index < senders; index++ {
		works = append(works, func() (sum uint64) {
			for i := uint64(0); i < operations; i++ {
				sum += <-c
			}
			return
		})
	}
	spans := crew(works)
	var sent, received uint64
	for i := range spans {
		if i < senders {
			sent += spans[i].sum
		} else {
			received += spans[i].sum
		}
	}
	require(sent == received, "what was sent is received")
	return spans
}

func pingpong(o options, operations uint64) []span {
	to1, to0 := make(chan uint64, o.capacity), make(chan uint64, o.capacity)
	spans := crew([]func() uint64{func() (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			to1 <- i + 1
			sum += <-to0
		}
		return
	}, func() (sum uint64) {
		for i := uint64(0); i < operations; i++ {
			value := <-to1
			sum += value
			to0 <- value
		}
		return
	}})
	require(spans[0].sum == spans[1].sum, "what was sent is received")
	return spans
}

// Twice, first for an eighth of the operations, which does not count. each: how many elements, or
// hops, there are to an operation.
func measure(o options, each int, run func(operations uint64) []span) (ns, cpu, overlap float64) {
	run(o.operations/8 + 1)
	cpu = cpuNs()
	spans := run(o.operations)
	cpu = cpuNs() - cpu
	first, last, own := spans[0].start, spans[0].end, 0.0
	for _, s := range spans {
		if s.start.Before(first) {
			first = s.start
		}
		if s.end.After(last) {
			last = s.end
		}
		own += float64(s.end.Sub(s.start))
	}
	whole := float64(last.Sub(first))
	all := float64(o.operations) * float64(each)
	return whole / all, cpu / all, own / whole / float64(len(spans))
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: bench-chan-go pair|mpmc|pingpong|spsc [--workers N]"+
		" [--tasks N] [--capacity N] [--operations N]")
	os.Exit(2)
}

func parse() (workload string, o options) {
	o = options{1, 8, 64, 10000}
	if len(os.Args)%2 != 0 {
		usage()
	}
	for i := 2; i < len(os.Args); i += 2 {
		value, err := strconv.ParseUint(os.Args[i+1], 10, 32)
		if err != nil || value < 1 {
			usage()
		}
		switch os.Args[i] {
		case "--workers":
			o.workers = int(value)
		case "--tasks":
			o.tasks = int(value)
		case "--capacity":
			o.capacity = int(value)
		case "--operations":
			o.operations = value
		default:
			usage()
		}
	}
	return os.Args[1], o
}

func main() {
	workload, o := parse()
	each := 1
	var run func(operations uint64) []span
	switch workload {
	case "pair":
		run = func(operations uint64) []span { return pair(o, operations) }
	case "mpmc":
		each = o.tasks / 2
		run = func(operations uint64) []span { return many(o, o.tasks/2, operations) }
	case "spsc":
		run = func(operations uint64) []span { return many(o, 1, operations) }
	case "pingpong":
		each = 2
		run = func(operations uint64) []span { return pingpong(o, operations) }
	default:
		usage()
	}
	runtime.GOMAXPROCS(o.workers)
	ns, cpu, overlap := measure(o, each, run)
	fmt.Printf("{\"runtime\": \"go\", \"version\": \"Go %s\", \"workload\": \"%s\", \"workers\": %d, "+
		"\"tasks\": %d, \"capacity\": %d, \"operations\": %d, \"ns\": %.6f, \"cpu_ns\": %.6f, "+
		"\"overlap\": %.6f}\n", runtime.Version()[2:], workload, o.workers, o.tasks, o.capacity,
		o.operations, ns, cpu, overlap)
}
