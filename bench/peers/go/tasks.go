package main

import (
	"runtime"
	"sync"
	"time"
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
