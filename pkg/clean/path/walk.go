package path

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	passes     = 3         // times a folder is read again because it did not get empty
	maxDepth   = 96        // folders open at once in one branch; what is deeper moves up first
	shareDepth = 16        // down to here folders are shared out, which keeps others above open
	bigBuffer  = 64 << 10  // bytes of entries read at once
	hugeBuffer = 1 << 20   // the same once a folder filled that
	deepBuffer = 4096      // the same below shareDepth, where every level keeps the names it read
	maxWorkers = 4         // more only queue for the file system's locks
	maxMoves   = 1_000_000 // subtrees moved up in one walk
)

// walk empties one tree. Workers take folders from each other, each goes down
// by itself otherwise; the last one to finish with a folder removes it.
type walk struct {
	k       kernel
	ctx     context.Context
	path    string
	exclude []pattern
	homes   map[inode]bool
	probe   probe
	idle    bool // at idle priority
	waits   bool // out of everybody's way: what there was no time for is no failure

	tally  tally
	root   *node
	queue  chan *node
	done   chan struct{}
	stop   atomic.Bool
	facts  facts        // of the top folder
	byNode bool         // entries go in the order of their inodes
	gone   bool         // the top folder is removed
	token  string       // begins the names of what was moved up
	moved  atomic.Int64 // subtrees moved up so far
	serial atomic.Int64 // the last name's number
}

// node is a folder on its way out. Only the worker that reads it changes it;
// open and stays are shared with those that do its folders.
type node struct {
	up     *node
	name   []byte // in up, ends in NUL
	fd     int    // -1 until it is opened
	depth  int
	pass   int
	moved  int64        // of the top folder: moved up when its last pass began; that pass takes only those
	names  []byte       // folders of the last batch, each ends in NUL
	next   int          // how much of names is done
	watch  []mark       // exclusions that may lie below
	chmods atomic.Bool  // its mode was tried already
	open   atomic.Int32 // its reading, and folders in it that are not done
	stays  atomic.Bool  // something in it stays
}

// purge empties the tree whose top folder is open as fd, and removes it.
func (w *walk) purge(t target, fd int) error {
	parent := &node{fd: t.fd}
	w.root = &node{up: parent, name: append([]byte(t.entry), 0), fd: fd, watch: w.marks(t.names, t.real)}
	w.root.open.Store(1)
	w.queue = make(chan *node, 32)
	w.done = make(chan struct{})
	w.token = newToken()
	w.facts = t.facts
	w.byNode = ordered(fd)
	release := context.AfterFunc(w.ctx, func() { w.stop.Store(true) })
	defer release()
	w.queue <- w.root
	var all sync.WaitGroup
	if w.idle {
		all.Go(func() { atIdle(w.work) })
	} else {
		for range min(runtime.GOMAXPROCS(0), maxWorkers) {
			all.Go(w.work)
		}
	}
	all.Wait()
	return w.result()
}

// work is one worker.
func (w *walk) work() {
	s := &batch{buf: make([]byte, bigBuffer)}
	var stack []*node
	for {
		if len(stack) == 0 {
			select {
			case n := <-w.queue:
				stack = append(stack, n)
			case <-w.done:
				return
			}
		}
		top := stack[len(stack)-1]
		next, finished := w.step(top, s)
		if next != nil {
			stack = append(stack, next)
		}
		if finished {
			stack[len(stack)-1] = nil
			stack = stack[:len(stack)-1]
			if again := w.finish(top); again != nil {
				stack = append(stack, again)
			}
		}
	}
}

// step does the next bit of a folder: a folder in it to go down to, or the
// next batch of entries, or its end.
func (w *walk) step(n *node, s *batch) (next *node, finished bool) {
	if w.stop.Load() {
		n.stays.Store(true)
		return nil, true
	}
	if n.fd < 0 && !w.enter(n) {
		return nil, true
	}
	for n.next < len(n.names) {
		if child := w.child(n); child != nil {
			return child, false
		}
	}
	return nil, !w.batch(n, s)
}

// child makes a node of the next folder in n; nil when it was given away or
// moved up.
func (w *walk) child(n *node) *node {
	name := n.names[n.next:]
	for i, c := range name {
		if c == 0 {
			name = name[:i+1]
			break
		}
	}
	n.next += len(name)
	if n.depth >= maxDepth && w.moveUp(n, name) {
		return nil
	}
	child := nodes.Get().(*node)
	child.up, child.name, child.fd, child.depth = n, append(child.name[:0], name...), -1, n.depth+1
	child.watch = nil
	if len(n.watch) > 0 {
		child.watch = w.marksBelow(n.watch, name[:len(name)-1])
	}
	child.open.Store(1)
	n.open.Add(1)
	if n.depth < shareDepth {
		select {
		case w.queue <- child:
			return nil
		default:
		}
	}
	return child
}

// nodes are used again: a tree may have a million folders.
var nodes = sync.Pool{New: func() any { return &node{} }}

func (n *node) recycle() {
	if cap(n.names) > deepBuffer {
		n.names = nil
	}
	n.up, n.fd, n.pass, n.moved, n.names, n.next, n.watch = nil, -1, 0, 0, n.names[:0], 0, nil
	n.chmods.Store(false)
	n.stays.Store(false)
	nodes.Put(n)
}
