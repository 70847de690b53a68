package main

import "math/bits"

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
