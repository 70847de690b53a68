// Echo and relay by Go's net: a goroutine for each direction of a connection.
//
//	bench-io-go PORT [TO_PORT]       as ../../../programs/io/server.h says
//	bench-io-go cancel --tasks N     as ../../../programs/io/cancel.h says
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
)

const bytes = 16384

// pass sends what comes from one end to the other until there is no more, and then closes both.
func pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, bytes)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if _, err = to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func serve(client net.Conn, to string) {
	if to == "" {
		pass(client, client)
		return
	}
	server, err := net.Dial("tcp", "127.0.0.1:"+to)
	if err != nil {
		client.Close()
		return
	}
	go pass(server, client)
	pass(client, server)
}

func fail(what interface{}) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(1)
}

func main() {
	if len(os.Args) >= 4 && os.Args[1] == "cancel" && os.Args[2] == "--tasks" {
		cancel(os.Args[3])
		return
	}
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fail("usage: bench-io-go PORT [TO_PORT]")
	}
	to := ""
	if len(os.Args) == 3 {
		to = os.Args[2]
	}
	if os.Getenv("BENCH_WORKERS") != "" {
		runtime.GOMAXPROCS(number(os.Getenv("BENCH_WORKERS")))
	} else {
		runtime.GOMAXPROCS(1)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		fail(err)
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			fail(err)
		}
		go serve(client, to)
	}
}
