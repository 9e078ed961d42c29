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

(defconst fl--opens
  (concat "\\(?:[=({[]\\|->\\|\\_<\\(?:then\\|else\\|do\\|match\\|loop\\)\\)"
          "\\s-*\\(?:--.*\\)?$")
  "The end of a line that the next one continues.")

(defun fl--indentation-after-line ()
  "The indentation of what follows: two more columns if the line goes on."
  (+ (current-indentation)
     (if (save-excursion
           (beginning-of-line)
           (re-search-forward fl--opens (line-end-position) t))
         2 0)))

(defun fl-indent-line ()
  "Indent like the line before, or deeper if that goes on.
Tabs after the first do as `indent-relative' does."
  (interactive)
  (if (and (eq this-command 'indent-for-tab-command) (eq last-command this-command))
      (indent-relative)
    (let ((column (save-excursion
                    (if (zerop (forward-line -1)) (fl--indentation-after-line) 0))))
      (save-excursion (indent-line-to column))
      (when (< (current-column) column) (move-to-column column)))))

(defconst fl--definition
  "^\\(?:local\\s-+\\)?\\(?:def\\|entry\\|type\\|module\\)\\_>")

(defun fl-beginning-of-defun (&optional count)
  "Move to the start of the definition around the point, or COUNT back."
  (re-search-backward fl--definition nil 'move (or count 1)))

(defun fl-end-of-defun ()
  "Move to the start of the next definition."
  (forward-line 1)
  (when (re-search-forward fl--definition nil 'move)
    (beginning-of-line)))

(defconst fl--imenu
  (let ((name "\\s-+\\([[:alpha:]_][[:alnum:]_']*\\)") (local "^\\(?:local\\s-+\\)?"))
    `((nil ,(concat local "\\(?:def\\|entry\\)" name) 1)
      ("Types" ,(concat local "type[~^]?" name) 1)
      ("Modules" ,(concat local "module\\(?:\\s-+type\\)?" name) 1))))

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
  (setq-local indent-line-function #'fl-indent-line)
  (setq-local beginning-of-defun-function #'fl-beginning-of-defun)
  (setq-local end-of-defun-function #'fl-end-of-defun)
  (setq-local imenu-generic-expression fl--imenu)
  (setq-local font-lock-defaults '(fl--font-lock)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.\\(?:fl\\|fut\\)\\'" . fl-mode))

(with-eval-after-load 'eglot
  (defvar eglot-server-programs)
  (add-to-list 'eglot-server-programs `(fl-mode . (,fl-compiler "lsp"))))

(provide 'fl-mode)
;;; fl-mode.el ends here
