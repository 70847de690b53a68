// Go under the workloads of bench/README.md, which says what each of them is. Workers are
// GOMAXPROCS, tasks are goroutines.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// xsyncVersion is that of golang.org/x/sync, which build.sh knows.
var xsyncVersion = "unknown"

type options struct {
	workers, tasks, amount int
	operations             uint64
}

// A workload on one engine. The first engine of a workload is the one that is taken if none is
// named.
type benchCase struct {
	workload, engine string
	tasks            int // so many, and no others; 0: any number
	run              func(o options) outcome
}

func cases() (all []benchCase) {
	for _, some := range [][]benchCase{
		lockCases, xsyncCases, semCases, chanCases, taskCases, waitsCases, cancelCases,
		parkedCases, wakeCases, familyAloneCases, familyCases, familyRoundsCases,
	} {
		all = append(all, some...)
	}
	return all
}

func fail(status int, text string) {
	fmt.Fprintln(os.Stderr, "bench-go:", text)
	os.Exit(status)
}

// A run whose numbers do not add up has failed.
func require(so bool, what string) {
	if !so {
		fail(1, "not so: "+what)
	}
}

func usage(out *os.File, status int) {
	fmt.Fprintln(out, "usage: bench-go WORKLOAD [--engine NAME] [--workers N] [--tasks N]")
	fmt.Fprintln(out, "                [--amount N] [--operations N]")
	engines, order := map[string]string{}, []string{}
	for _, c := range cases() {
		if _, known := engines[c.workload]; !known {
			order = append(order, c.workload)
		}
		engines[c.workload] += " " + c.engine
	}
	for _, name := range order {
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %-14s%s", name, engines[name]), " "))
	}
	os.Exit(status)
}

func find(workload, engine string) benchCase {
	known := false
	for _, c := range cases() {
		if c.workload != workload {
			continue
		}
		known = true
		if engine == "" || c.engine == engine {
			return c
		}
	}
	if known {
		fail(2, "there is no engine "+engine+" for "+workload)
	}
	fmt.Fprintln(os.Stderr, "bench-go: there is no workload", workload)
	usage(os.Stderr, 2)
	panic("usage returns")
}

func number(name, text string, least uint64) uint64 {
	value, err := strconv.ParseUint(text, 10, 31)
	if err != nil || value < least {
		fail(2, "out of range: "+name+" "+text)
	}
	return value
}

func parse(arguments []string) (benchCase, options) {
	if len(arguments) == 1 && arguments[0] == "--help" {
		usage(os.Stdout, 0)
	}
	if len(arguments)%2 != 1 {
		usage(os.Stderr, 2)
	}
	o, engine := options{}, ""
	o.operations = 10000
	for i := 1; i < len(arguments); i += 2 {
		name, value := arguments[i], arguments[i+1]
		switch name {
		case "--engine":
			engine = value
		case "--workers":
			o.workers = int(number(name, value, 1))
		case "--tasks":
			o.tasks = int(number(name, value, 1))
		case "--amount":
			o.amount = int(number(name, value, 0))
		case "--operations":
			o.operations = number(name, value, 1)
		default:
			usage(os.Stderr, 2)
		}
	}
	return fit(find(arguments[0], engine), o)
}

// What was not said, and what cannot be.
func fit(c benchCase, o options) (benchCase, options) {
	if o.tasks == 0 {
		o.tasks = 8
		if c.tasks != 0 {
			o.tasks = c.tasks
		}
	}
	if c.tasks != 0 && o.tasks != c.tasks {
		fail(2, fmt.Sprintf("%s has --tasks %d", c.workload, c.tasks))
	}
	if o.workers == 0 { // where others have threads, each has a core
		o.workers = 1
		if c.workload == "wake" || c.workload == "spsc" {
			o.workers = 2
		}
	}
	needsAmount := map[string]bool{"sem": true, "held": true, "all": true}
	if needsAmount[c.workload] && o.amount == 0 {
		fail(2, c.workload+" needs --amount, the permits")
	}
	hasOthers := map[string]bool{"broadcast": true, "watch": true, "latch": true}
	switch {
	case hasOthers[c.workload] && o.tasks < 2:
		fail(2, "one for all others: --tasks is 2 or more")
	case c.workload == "rwlock" && o.amount > o.tasks:
		fail(2, "--amount is how many of --tasks write")
	case c.workload == "cancel" && o.amount > 100:
		fail(2, "--amount is per cent")
	case c.workload == "mpmc" && o.tasks%2 != 0:
		fail(2, "as many receive as send: --tasks is even")
	case c.workload == "parked" && o.workers != 1:
		fail(2, "the order of queueing is known with --workers 1")
	}
	return c, o
}

func version(c benchCase) string {
	if c.engine == "xsync" {
		return "x/sync " + xsyncVersion + " (Go " + runtime.Version()[2:] + ")"
	}
	return "Go " + runtime.Version()[2:]
}

func main() {
	c, o := parse(os.Args[1:])
	runtime.GOMAXPROCS(o.workers)
	line := fmt.Sprintf("{\"version\": %q", version(c))
	for _, f := range c.run(o) {
		line += fmt.Sprintf(", %q: %.6f", f.name, f.value)
	}
	fmt.Println(line + "}")
}
