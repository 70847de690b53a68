package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		fail(err)
	}
	return n
}

// cancel has so many receives whose time runs out at once: how long it takes until all have ended.
func cancel(tasks string) {
	runtime.GOMAXPROCS(1)
	sockets := make([]net.PacketConn, number(tasks))
	for i := range sockets {
		socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			fail(err)
		}
		sockets[i] = socket
	}
	until := time.Now().Add(time.Second)
	var ended sync.WaitGroup
	ended.Add(len(sockets))
	for _, socket := range sockets {
		go func(socket net.PacketConn) {
			buffer := make([]byte, 64)
			if socket.SetReadDeadline(until) != nil {
				fail("SetReadDeadline")
			}
			if _, _, err := socket.ReadFrom(buffer); !errors.Is(err, os.ErrDeadlineExceeded) {
				fail("a receive has ended by itself")
			}
			ended.Done()
		}(socket)
	}
	runtime.Gosched()
	if !time.Now().Before(until) {
		fail("not all receive before the time is over")
	}
	ended.Wait()
	fmt.Printf("{\"version\": \"%s\", \"ns\": %d}\n", runtime.Version(), time.Since(until).Nanoseconds())
}
