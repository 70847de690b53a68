package main

import "runtime"

// A channel as a semaphore, as Go's own documentation has it: a place in its buffer is a permit, to
// send takes one, to receive gives it back. In order of arrival.
var semCases = []benchCase{
	{"alone-sem", "chan", 1, aloneChanSem},
	{"sem", "chan", 0, semChan},
	{"held", "chan", 0, heldChan},
	{"pingpong", "chan", 2, pingpongChanSem},
}

func aloneChanSem(o options) outcome {
	o.amount = 1
	return semChan(o)
}

func semChan(o options) outcome {
	sem := make(chan struct{}, o.amount)
	out := crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			sem <- struct{}{}
			<-sem
		}
		return 0
	}}.run()
	require(len(sem) == 0, "every permit was given back")
	return out
}

func heldChan(o options) outcome {
	sem := make(chan struct{}, o.amount)
	out := crew{options: o, work: func(_ int, operations uint64) uint64 {
		for i := uint64(0); i < operations; i++ {
			sem <- struct{}{}
			runtime.Gosched()
			<-sem
		}
		return 0
	}}.run()
	require(len(sem) == 0, "every permit was given back")
	return out
}

// Here to send gives a permit, and to receive takes it. Member 0 serves: it gives first, and the
// other gives when it has received.
func pingpongChanSem(o options) outcome {
	sems := [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	out := crew{options: o, work: func(index int, operations uint64) uint64 {
		mine, other := sems[index], sems[1-index]
		for i := uint64(0); i < operations; i++ {
			if index == 0 {
				other <- struct{}{}
			}
			<-mine
			if index == 1 {
				other <- struct{}{}
			}
		}
		return 0
	}}.run()
	require(len(sems[0])+len(sems[1]) == 0, "what was given was taken")
	return out
}
