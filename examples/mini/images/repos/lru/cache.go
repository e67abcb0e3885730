// Package lru is a cache of bounded size that forgets what was used longest
// ago. It is not safe for concurrent use.
package lru

// Cache holds at most a fixed number of entries.
type Cache struct {
	capacity int
	entries  map[string]*entry
	order    list
	onEvict  func(key string, value interface{})
}

// New makes a cache for capacity entries. onEvict, when not nil, is told of
// each entry that had to make room.
func New(capacity int, onEvict func(key string, value interface{})) *Cache {
	if capacity < 1 {
		panic("lru: capacity must be positive")
	}
	return &Cache{capacity: capacity, entries: make(map[string]*entry), onEvict: onEvict}
}

// Len counts the entries.
func (c *Cache) Len() int { return len(c.entries) }

// Get returns the value of key and marks it as used.
func (c *Cache) Get(key string) (interface{}, bool) {
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	c.order.moveToFront(e)
	return e.value, true
}

// Peek returns the value of key without marking it as used.
func (c *Cache) Peek(key string) (interface{}, bool) {
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	return e.value, true
}

// Put stores value under key and marks it as used.
func (c *Cache) Put(key string, value interface{}) {
	if len(c.entries) >= c.capacity {
		c.evict()
	}
	if e, ok := c.entries[key]; ok {
		e.value = value
		return
	}
	e := &entry{key: key, value: value}
	c.entries[key] = e
	c.order.pushFront(e)
}

// Remove forgets key and reports whether it was there. onEvict is not called.
func (c *Cache) Remove(key string) bool {
	e, ok := c.entries[key]
	if !ok {
		return false
	}
	c.order.remove(e)
	delete(c.entries, key)
	return true
}

// Keys lists the keys, the most recently used first.
func (c *Cache) Keys() []string {
	keys := make([]string, 0, len(c.entries))
	for e := c.order.front; e != nil; e = e.next {
		keys = append(keys, e.key)
	}
	return keys
}

func (c *Cache) evict() {
	e := c.order.back
	c.order.remove(e)
	delete(c.entries, e.key)
	if c.onEvict != nil {
		c.onEvict(e.key, e.value)
	}
}
