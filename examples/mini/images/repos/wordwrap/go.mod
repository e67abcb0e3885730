module mini/wordwrap

go 1.19
