" Fl, a functional data-parallel language.
if exists('b:current_syntax')
  finish
endif
syntax iskeyword @,48-57,_,'

syntax keyword flControl if then else let in loop for while do match case with
syntax keyword flDeclaration def entry type module val local open include import nextgroup=flLifted,flDefined skipwhite
syntax keyword flDeclaration assert
syntax keyword flBoolean true false
syntax keyword flType i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool

syntax match flLifted /[~^]/ contained nextgroup=flDefined skipwhite
syntax match flDefined /\h[[:alnum:]_']*/ contained contains=flDeclaration
syntax match flName /\<\h[[:alnum:]_']*/ contains=flControl,flDeclaration,flBoolean,flType transparent
syntax match flTypeParam /\%([[:alnum:]_']\)\@1<!'[~^]\?\h\w*\>'\@!/
syntax match flConstructor /#\h[[:alnum:]_']*/
syntax match flOperator /[-+*/%=!><|&^]\+\|:>\|\\\|???\|\.\.[.<>]\?/
syntax match flOperator /`[[:alnum:]_'.]\+`/
syntax match flNumber /\<0[xX]\x[0-9a-fA-F_]*\%(\.\x[0-9a-fA-F_]*\)\?\%([pP][+-]\?\d\+\)\?\%([iu]\%(8\|16\|32\|64\)\|f\%(16\|32\|64\)\)\?/
syntax match flNumber /\<0[bB][01_]\+\%([iu]\%(8\|16\|32\|64\)\)\?/
syntax match flNumber /\<0[rR][IVXLCDM_]\+\%([iu]\%(8\|16\|32\|64\)\)\?/
syntax match flNumber /\<\d[0-9_]*\%(\.\d[0-9_]*\)\?\%([eE][+-]\?\d\+\)\?\%([iu]\%(8\|16\|32\|64\)\|f\%(16\|32\|64\)\)\?/
syntax match flCharacter /\%([[:alnum:]_']\)\@1<!'\%(\\\%(\w\+\|.\)\|[^'\\]\)'/
syntax region flString start=/"/ skip=/\\./ end=/"/ oneline contains=flEscape
syntax match flEscape /\\\%(x\x\+\|\d\+\|\u\+\|.\)/ contained
syntax region flAttribute start=/#\[/ end=/\]/ contains=flString,flNumber
syntax match flComment /--.*$/ contains=flTodo
syntax match flDocumentation /-- |.*$/
syntax match flTest /^--\s*==\s*$/
syntax keyword flTodo TODO FIXME contained

highlight default link flControl Statement
highlight default link flDeclaration Keyword
highlight default link flBoolean Boolean
highlight default link flType Type
highlight default link flDefined Function
highlight default link flLifted Operator
highlight default link flTypeParam Type
highlight default link flConstructor Constant
highlight default link flOperator Operator
highlight default link flNumber Number
highlight default link flCharacter Character
highlight default link flString String
highlight default link flEscape SpecialChar
highlight default link flAttribute PreProc
highlight default link flComment Comment
highlight default link flDocumentation SpecialComment
highlight default link flTest SpecialComment
highlight default link flTodo Todo

let b:current_syntax = 'fl'
