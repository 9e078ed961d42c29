" Fl: comments, names, and :FlFormat, the layout by `flc fmt`.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=--\ %s
setlocal comments=:--
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal iskeyword=@,48-57,_,'
setlocal suffixesadd=.fl,.fut
setlocal makeprg=flc\ check\ %:S
setlocal include=^\\s*\\(local\\s\\+\\\|open\\s\\+\\)*import

" Leaves the text alone if it cannot be read, and says why.
function! s:format() abort
  let lines = systemlist('flc fmt - 2> /dev/null', getline(1, '$'))
  if v:shell_error
    echo system('flc fmt - > /dev/null', getline(1, '$'))
    return
  endif
  let view = winsaveview()
  call setline(1, lines)
  if line('$') > len(lines)
    call deletebufline('%', len(lines) + 1, '$')
  endif
  call winrestview(view)
endfunction
command! -buffer FlFormat call s:format()

let b:undo_ftplugin = 'delcommand FlFormat'
      \ .. ' | setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< iskeyword< suffixesadd< include< makeprg<'
