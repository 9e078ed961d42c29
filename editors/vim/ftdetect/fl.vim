autocmd BufNewFile,BufRead *.fl,*.fut setfiletype fl
