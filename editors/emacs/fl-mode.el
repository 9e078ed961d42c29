;;; fl-mode.el --- Fl, a functional data-parallel language  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: languages

;;; Commentary:

;; Highlights programs, formats them with `flc fmt' (C-c C-f), and knows the
;; language server `flc lsp' for eglot.

;;; Code:

(defgroup fl nil
  "Programs in Fl."
  :group 'languages)

(defcustom fl-compiler "flc"
  "The program `flc'."
  :type 'string)

(defvar fl-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?- ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "." table)
    (modify-syntax-entry ?_ "w" table)
    (modify-syntax-entry ?' "w" table)
    (dolist (ch '(?+ ?* ?/ ?% ?= ?! ?> ?< ?| ?& ?^ ?~ ?? ?: ?#))
      (modify-syntax-entry ch "." table))
    table))

;; A backslash escapes in strings, elsewhere it begins a function; '"' begins no string.
(defconst fl--syntax-propertize
  (syntax-propertize-rules
   ("'\\(\"\\)'" (1 "."))
   ("\\(\\\\\\)." (1 (and (nth 3 (save-excursion (syntax-ppss (match-beginning 0))))
                         (string-to-syntax "\\"))))))

(defconst fl--control
  '("if" "then" "else" "let" "in" "loop" "for" "while" "do" "match" "case" "with"))

(defconst fl--declarations
  '("def" "entry" "type" "module" "val" "local" "open" "include" "import" "assert"))

(defconst fl--types
  '("i8" "i16" "i32" "i64" "u8" "u16" "u32" "u64" "f16" "f32" "f64" "bool"))

(defconst fl--font-lock
  `(("#\\[[^]\n]*\\]" 0 font-lock-preprocessor-face t)
    ("\\<\\(?:def\\|entry\\)\\s-+\\([[:alpha:]_][[:alnum:]_']*\\)" 1 font-lock-function-name-face)
    ("\\<\\(?:type[~^]?\\|module\\s-+type\\|module\\)\\s-+\\([[:alpha:]_][[:alnum:]_']*\\)"
     1 font-lock-type-face)
    (,(regexp-opt fl--control 'words) . font-lock-keyword-face)
    (,(regexp-opt fl--declarations 'words) . font-lock-keyword-face)
    (,(regexp-opt fl--types 'words) . font-lock-type-face)
    (,(regexp-opt '("true" "false") 'words) . font-lock-constant-face)
    ("\\(?:^\\|[^[:alnum:]_']\\)\\('\\(?:\\\\[[:alnum:]]+\\|\\\\.\\|[^'\\\\\n]\\)'\\)"
     1 font-lock-string-face)
    ("\\(?:^\\|[^[:alnum:]_']\\)\\('[~^]?[[:alpha:]_][[:alnum:]_]*\\)\\_>" 1 font-lock-type-face)
    ("#[[:alpha:]_][[:alnum:]_']*" . font-lock-constant-face)))

(defun fl-format-buffer ()
  "Give the buffer the layout of `flc fmt'."
  (interactive)
  (let ((formatted (generate-new-buffer " *flc fmt*"))
        (messages (make-temp-file "flc-fmt")))
    (unwind-protect
        (if (zerop (call-process-region nil nil fl-compiler nil (list formatted messages) nil
                                        "fmt" "-"))
            (replace-buffer-contents formatted)
          (message "%s" (with-temp-buffer
                          (insert-file-contents messages)
                          (buffer-string))))
      (kill-buffer formatted)
      (delete-file messages))))

(defvar fl-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-f") #'fl-format-buffer)
    map))

;;;###autoload
(define-derived-mode fl-mode prog-mode "Fl"
  "Major mode for programs in Fl."
  (setq-local comment-start "-- ")
  (setq-local comment-start-skip "--+\\s-*")
  (setq-local indent-tabs-mode nil)
  (setq-local tab-width 2)
  (setq-local syntax-propertize-function fl--syntax-propertize)
  (setq-local indent-line-function #'indent-relative)
  (setq-local font-lock-defaults '(fl--font-lock)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.\\(?:fl\\|fut\\)\\'" . fl-mode))

(with-eval-after-load 'eglot
  (defvar eglot-server-programs)
  (add-to-list 'eglot-server-programs `(fl-mode . (,fl-compiler "lsp"))))

(provide 'fl-mode)
;;; fl-mode.el ends here
