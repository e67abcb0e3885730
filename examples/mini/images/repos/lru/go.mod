module mini/lru

go 1.19
