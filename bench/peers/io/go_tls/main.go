// Echo over TLS by Go's crypto/tls: a goroutine for each connection; the certificate is in $BENCH_DIR.
//
//	bench-io-go-tls PORT    as ../../../programs/io/tls.h says
package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
)

const bytes = 16384

func echo(client net.Conn) {
	defer client.Close()
	buffer := make([]byte, bytes)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if _, err = client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench-io-go-tls PORT")
		os.Exit(2)
	}
	workers := 1
	if given := os.Getenv("BENCH_WORKERS"); given != "" {
		var err error
		workers, err = strconv.Atoi(given)
		must(err)
	}
	runtime.GOMAXPROCS(workers)
	at := os.Getenv("BENCH_DIR")
	certificate, err := tls.LoadX509KeyPair(at+"/tls.pem", at+"/tls.key")
	must(err)
	listener, err := tls.Listen("tcp4", "127.0.0.1:"+os.Args[1], &tls.Config{Certificates: []tls.Certificate{certificate}})
	must(err)
	for {
		client, err := listener.Accept()
		must(err)
		go echo(client)
	}
}
