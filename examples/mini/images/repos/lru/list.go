package lru

// entry is a node of the list that orders the cache by use.
type entry struct {
	key        string
	value      interface{}
	prev, next *entry
}

// list is doubly linked, most recently used first.
type list struct {
	front, back *entry
}

func (l *list) pushFront(e *entry) {
	e.prev, e.next = nil, l.front
	if l.front != nil {
		l.front.prev = e
	} else {
		l.back = e
	}
	l.front = e
}

func (l *list) remove(e *entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.front = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.back = e.prev
	}
	e.prev, e.next = nil, nil
}

func (l *list) moveToFront(e *entry) {
	if l.front == e {
		return
	}
	l.remove(e)
	l.pushFront(e)
}
