package main

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
