package datasets

import "fmt"

// checkSize refuses a row that holds more than limit bytes. Text formats bound a
// row before it is taken apart; a column of Parquet may hold a value of any size.
func (r *row) checkSize(limit int) error {
	size := 0
	add := func(cells []cell) {
		for i := range cells {
			size += len(cells[i].text) + len(cells[i].raw)
			for _, s := range cells[i].list {
				size += len(s)
			}
		}
	}
	add(r.cells[:])
	add(r.extra[:])
	if size > limit {
		return fmt.Errorf("the row holds %d bytes, at most %d are taken", size, limit)
	}
	return nil
}
