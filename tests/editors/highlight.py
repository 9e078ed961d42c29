#!/usr/bin/env python3
"""What the files in editors/ make of programs.

All of them must know the words of the language as compiler/source/token.def lists them.  The TextMate grammar, and Vim
and Emacs if they are there, show what they take each word of a sample for.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"

# Lines of a program; below each, what starts in these columns.
SAMPLE = [
    ("-- | Adds it up: if so.", {0: "doc", 14: "doc"}),
    ("-- ==", {0: "test"}),
    ("-- input { 1 }", {0: "comment", 11: "comment"}),
    ("def sum' [n] 'a (xs: [n]f32) (c: a) : f32 =", {0: "keyword", 4: "function", 13: "typeparam", 24: "type", 38: "type"}),
    ("  let letter = 'l' in if true then x' else 0x1fu8", {2: "keyword", 6: "plain", 15: "char", 19: "keyword",
                                                          22: "keyword", 25: "boolean", 30: "keyword", 35: "plain",
                                                          38: "keyword", 43: "number"}),
    ("  match loop_1 case #some 1.5e-3f64 -> \"def -- \\\" \" |> f", {2: "keyword", 8: "plain", 15: "keyword",
                                                                  20: "constructor", 26: "number", 39: "string",
                                                                  43: "string", 47: "string"}),
    ("type~ t '^b = #[unsafe] i64  -- type", {0: "keyword", 6: "typename", 8: "typeparam", 16: "attribute", 24: "type",
                                            29: "comment"}),
    ("def q = map (\\x -> '\"') \"\\\\\" -- \"", {0: "keyword", 4: "function", 8: "plain", 20: "char", 25: "string", 30: "comment"}),
    ("module type m = { val x : '\\n' }  open import \"a\"", {0: "keyword", 7: "keyword", 18: "keyword", 26: "char",
                                                          34: "keyword", 39: "keyword", 46: "string"}),
]
TEXT = "".join(line + "\n" for line, _ in SAMPLE)


def keywords():
    text = (ROOT / "compiler/source/token.def").read_text(encoding="utf-8")
    return set(re.findall(r"^TOKEN\(\w+, \"'([a-z]+)'\"\)", text, re.M))


def words_of_vscode():
    grammar = json.loads((EDITORS / "vscode/syntaxes/fl.tmLanguage.json").read_text(encoding="utf-8"))
    patterns = [*grammar["repository"]["keyword"]["patterns"], grammar["repository"]["constant"]]
    return {word for p in patterns for word in re.search(r"\(([a-z|]+)\)\(\?!", p["match"])[1].split("|")}


def words_of_vim():
    text = (EDITORS / "vim/syntax/fl.vim").read_text(encoding="utf-8")
    lines = re.findall(r"^syntax keyword fl(?:Control|Declaration|Boolean) (.*)$", text, re.M)
    return {word for line in lines for word in line.replace("nextgroup=flLifted,flDefined skipwhite", "").split()}


def words_of_emacs():
    text = (EDITORS / "emacs/fl-mode.el").read_text(encoding="utf-8")
    lists = re.findall(r"defconst fl--(?:control|declarations)\n  '\(([^)]*)\)", text)
    return set(re.findall(r'"([a-z]+)"', " ".join(lists))) | set(re.findall(r"'\(\"(true)\" \"(false)\"\)", text)[0])


# ---- what editors say: for each (line, column) the name of a class

VIM = {"flControl": "keyword", "flDeclaration": "keyword", "flBoolean": "boolean", "flType": "type",
       "flTypeParam": "typeparam", "flDefined": ("function", "typename"), "flConstructor": "constructor", "flNumber": "number",
       "flCharacter": "char", "flString": "string", "flEscape": "string", "flAttribute": "attribute", "flComment": "comment",
       "flDocumentation": "doc", "flTest": "test", "": "plain", "flName": "plain"}


def places():
    return [(line, column) for line, (_, classes) in enumerate(SAMPLE) for column in classes]


def vim_says(folder):
    (folder / "sample.fl").write_text(TEXT, encoding="utf-8")
    shows = "".join(f"call add(out, synIDattr(synID({line + 1}, {column + 1}, 1), 'name'))\n" for line, column in places())
    (folder / "script.vim").write_text(
        f"set nocompatible\nset runtimepath^={EDITORS}/vim\nfiletype plugin on\nsyntax on\nedit sample.fl\nlet out = []\n{shows}"
        "call add(out, &commentstring)\ncall writefile(out, 'out')\nqall!\n", encoding="utf-8")
    subprocess.run(["vim", "-N", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", "script.vim"], cwd=folder, timeout=60,
                   check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    *names, comment = (folder / "out").read_text(encoding="utf-8").splitlines()
    assert comment == "-- %s", comment
    return [VIM[name] for name in names]


EMACS = {"font-lock-keyword-face": "keyword", "font-lock-constant-face": ("boolean", "constructor"),
         "font-lock-type-face": ("type", "typeparam", "typename"), "font-lock-function-name-face": "function",
         "font-lock-string-face": ("string", "char"), "font-lock-preprocessor-face": "attribute",
         "font-lock-comment-face": ("comment", "doc", "test"), "font-lock-comment-delimiter-face": ("comment", "doc", "test"),
         "nil": ("plain", "number")}


def emacs_says(folder):
    (folder / "sample.fl").write_text(TEXT, encoding="utf-8")
    shows = " ".join(f"(show {line} {column})" for line, column in places())
    (folder / "script.el").write_text(
        f"(load \"{EDITORS}/emacs/fl-mode.el\" nil t) (find-file \"sample.fl\") (font-lock-mode 1) (font-lock-ensure)\n"
        "(defun show (line column) (goto-char (point-min)) (forward-line line) (forward-char column)\n"
        "  (let ((face (get-text-property (point) 'face))) (princ (format \"%s\\n\" (if (consp face) (car face) face)))))\n"
        f"(unless (eq major-mode 'fl-mode) (error \"mode\")) {shows}\n"
        "(erase-buffer) (dolist (line '(\"def g x =\" \"let y = x + 1\" \"in y\")) (insert line) (newline-and-indent))\n"
        "(beginning-of-defun) (unless (string-prefix-p \"def g x =\\n  let y = x + 1\\n  in y\\n\" (buffer-string))\n"
        "  (error \"indentation: %s\" (buffer-string)))\n", encoding="utf-8")
    done = subprocess.run(["emacs", "-Q", "--batch", "-l", "script.el"], cwd=folder, timeout=60, check=True,
                          capture_output=True, text=True)
    return [EMACS[name] for name in done.stdout.splitlines()]


TEXTMATE = [("comment.line.documentation", "doc"), ("comment.line.test", "test"), ("comment.line", "comment"),
            ("constant.character.escape", "string"), ("string.quoted.double", "string"), ("string.quoted.single", "char"),
            ("constant.numeric", "number"), ("entity.name.function", "function"), ("entity.name.type.parameter", "typeparam"),
            ("entity.name", "typename"), ("support.type", "type"), ("constant.language", "boolean"),
            ("variable.other.enummember", "constructor"), ("meta.attribute", "attribute"), ("keyword.control", "keyword"),
            ("keyword.other", "keyword"), ("source.fl", "plain")]

# A reader of grammars that knows what ours uses: match with captures, begin and end, include.

def rules_of(grammar, patterns):
    for pattern in patterns:
        if "include" in pattern:
            inner = grammar["repository"][pattern["include"][1:]]
            yield from rules_of(grammar, inner["patterns"] if "patterns" in inner and "begin" not in inner else [inner])
        else:
            yield pattern


def first_match(rules, line, at):
    """The rule whose match begins first, of several the first rule."""
    found = [(match.start(), i, rule, match) for i, rule in enumerate(rules)
             if (match := re.compile(rule.get("match") or rule["begin"]).search(line, at))]
    return min(found, key=lambda f: f[:2])[2:] if found else (None, None)


def scopes_of_line(grammar, line, stack):
    """The innermost scope of each character."""
    scopes, at = [], 0
    scopes += [stack[-1]["name"] if stack else "source.fl"] * len(line)
    while True:
        top = stack[-1] if stack else grammar
        rule, match = first_match(list(rules_of(grammar, top["patterns"])), line, at)
        end = re.compile(top["end"]).search(line, at) if stack else None
        outside = stack[-2]["name"] if len(stack) > 1 else "source.fl"
        if end and (not match or end.start() <= match.start()):
            scopes[end.end():] = [outside] * (len(line) - end.end())
            stack.pop()
            at = end.end()
            if at == len(line):
                return scopes
            continue
        if not match:
            return scopes
        spans = [(int(group), capture["name"]) for group, capture in rule.get("captures", {}).items()]
        if "begin" in rule:
            stack.append(rule)
            scopes[match.start():] = [rule["name"]] * (len(line) - match.start())
        elif "name" in rule:
            spans.insert(0, (0, rule["name"]))
        for group, name in spans:
            scopes[match.start(group):match.end(group)] = [name] * (match.end(group) - match.start(group))
        at = match.end()


def own_reader_says():
    grammar = json.loads((EDITORS / "vscode/syntaxes/fl.tmLanguage.json").read_text(encoding="utf-8"))
    stack, lines = [], []
    for line, _ in SAMPLE:
        lines.append(scopes_of_line(grammar, line, stack))
    return [next(kind for prefix, kind in TEXTMATE if lines[line][column].startswith(prefix)) for line, column in places()]


def compare(editor, says):
    wanted = [kind for _, classes in SAMPLE for kind in classes.values()]
    assert len(says) == len(wanted), (editor, says)
    bad = 0
    for (line, column), kind, said in zip(places(), wanted, says):
        if kind != said and kind not in (said if isinstance(said, tuple) else ()):
            print(f"{editor}: line {line + 1}, column {column + 1}: {SAMPLE[line][0][column:column + 12]!r} is {kind}, not {said}")
            bad += 1
    return bad


def has_syntax():
    if not shutil.which("vim"):
        return False
    return "+syntax" in subprocess.run(["vim", "--version"], capture_output=True, text=True, check=False).stdout


def main():
    bad = 0
    for editor, words in [("VS Code", words_of_vscode()), ("Vim", words_of_vim()), ("Emacs", words_of_emacs())]:
        if words != keywords():
            print(f"{editor}: has not, or has too much: {sorted(words ^ keywords())}")
            bad += 1
    bad += compare("grammar", own_reader_says())
    with tempfile.TemporaryDirectory() as folder:
        if has_syntax():
            bad += compare("Vim", vim_says(Path(folder)))
        if shutil.which("emacs"):
            bad += compare("Emacs", emacs_says(Path(folder)))
    sys.exit(1 if bad else 0)


main()
