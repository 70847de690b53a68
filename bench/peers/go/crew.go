package main

import (
	"math/bits"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// What was measured, by the names of the line of JSON.
type field struct {
	name  string
	value float64
}

type outcome []field

// Times this many: where an operation of a member is not what is to be told.
func (out outcome) scaled(by float64) outcome {
	for i := range out {
		if out[i].name == "ns" || out[i].name == "cpu_ns" {
			out[i].value *= by
		}
	}
	return out
}

func (out outcome) without(name string) (rest outcome) {
	for _, f := range out {
		if f.name != name {
			rest = append(rest, f)
		}
	}
	return rest
}

var began = time.Now()

// One read of the monotonic clock; time.Now would read the other one, too.
func now() int64 {
	return int64(time.Since(began))
}

const clockProcessCPUTimeID = 2

func cpuNs() int64 {
	var t syscall.Timespec
	_, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockProcessCPUTimeID,
		uintptr(unsafe.Pointer(&t)), 0)
	require(failed == 0, "the process's CPU time is known")
	return t.Nano()
}

// How many operations the run has that does not count.
func warmUp(operations uint64) uint64 {
	return operations/8 + 1
}

// Operations of all tasks in both runs.
func inAll(o options) uint64 {
	return uint64(o.tasks) * (o.operations + warmUp(o.operations))
}

// Goroutines that do so many operations each.
type crew struct {
	options options
	// What member index does; what it returns is handed to check.
	work func(index int, operations uint64) uint64
	// Before each of the two runs, and after it; may be nil.
	begin func(operations uint64)
	check func(operations uint64, sums []uint64)

	countsAllocations bool
}

type span struct {
	start, end int64
	sum        uint64
	_          [40]byte // members stamp on a line each
}

func (c crew) run() outcome {
	c.once(warmUp(c.options.operations))
	return c.once(c.options.operations)
}

func (c crew) once(operations uint64) outcome {
	if c.begin != nil {
		c.begin(operations)
	}
	spans := make([]span, c.options.tasks)
	gate := make(chan struct{})
	var all sync.WaitGroup
	all.Add(len(spans))
	for i := range spans {
		go func(i int) {
			<-gate
			start := now()
			sum := c.work(i, operations)
			spans[i] = span{start: start, end: now(), sum: sum}
			all.Done()
		}(i)
	}
	mallocs := c.mallocs()
	cpu := cpuNs()
	close(gate) // that they are made is not what is measured
	all.Wait()
	cpu = cpuNs() - cpu
	out := told(spans, operations, cpu)
	if c.countsAllocations {
		count := float64(operations) * float64(len(spans))
		out = append(out, field{"allocations", float64(c.mallocs()-mallocs) / count})
	}
	c.look(operations, spans)
	return out
}

func (c crew) look(operations uint64, spans []span) {
	if c.check == nil {
		return
	}
	sums := make([]uint64, len(spans))
	for i := range spans {
		sums[i] = spans[i].sum
	}
	c.check(operations, sums)
}

func (c crew) mallocs() uint64 {
	if !c.countsAllocations {
		return 0
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func told(spans []span, operations uint64, cpu int64) outcome {
	first, last, own := spans[0].start, spans[0].end, int64(0)
	for _, s := range spans {
		if s.start < first {
			first = s.start
		}
		if s.end > last {
			last = s.end
		}
		own += s.end - s.start
	}
	whole := float64(last - first)
	count := float64(len(spans))
	all := float64(operations) * count
	return outcome{{"ns", whole / all}, {"cpu_ns", float64(cpu) / all},
		{"overlap", float64(own) / whole / count}}
}

// Sixteen buckets for every power of two, so that a quantile is right within 6 %. Nothing is
// allocated when one is added. bench/programs/histogram.h is the same.
const (
	steps   = 16
	buckets = 61 * steps
)

type histogram struct {
	count, max uint64
	counts     [buckets]uint64
}

// Values below 16 have a bucket each; above, the top five bits of the value name the bucket.
func bucketOf(value uint64) int {
	if value < steps {
		return int(value)
	}
	octave := bits.Len64(value) - 5
	return (octave+1)*steps + int(value>>octave)&(steps-1)
}

// The middle of a bucket.
func valueOf(bucket int) uint64 {
	if bucket < steps {
		return uint64(bucket)
	}
	octave := bucket/steps - 1
	return uint64(steps+bucket%steps)<<octave + 1<<octave>>1
}

func (h *histogram) add(ns int64) {
	value := uint64(ns)
	h.count++
	h.counts[bucketOf(value)]++
	if value > h.max {
		h.max = value
	}
}

func (h *histogram) merge(from *histogram) {
	h.count += from.count
	for i, n := range from.counts {
		h.counts[i] += n
	}
	if from.max > h.max {
		h.max = from.max
	}
}

// The value below which the fraction q of all values lie.
func (h *histogram) quantile(q float64) float64 {
	rank, seen := uint64(q*float64(h.count)), uint64(0)
	for i, n := range h.counts {
		seen += n
		if seen > rank {
			if valueOf(i) < h.max {
				return float64(valueOf(i))
			}
			break
		}
	}
	return float64(h.max)
}

func (h *histogram) told() outcome {
	return outcome{{"p50_ns", h.quantile(0.5)}, {"p99_ns", h.quantile(0.99)},
		{"p999_ns", h.quantile(0.999)}, {"longest_ns", float64(h.max)}}
}
