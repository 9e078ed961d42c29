#!/usr/bin/env python3
"""What is made of the tables of commands and options, which `flc help --json` prints.

  pages.py pages FLC OUTPUT PAGE...   manual pages and completions: flc.1, flc-build.1, flc.bash, _flc, flc.fish
  pages.py tables FLC CLI_MD          says where the tables in docs/cli.md differ; exit status 1 if they do
  pages.py tables FLC CLI_MD --write  puts them right
"""
import json
import re
import subprocess
import sys
from pathlib import Path


def tables_of(flc):
    shown = subprocess.run([flc, "help", "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(shown.stdout)


def plain(text):
    """Without the marks of `code` and [links](target)."""
    return re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text).replace("`", "")


# ---- docs/cli.md

def option_cell(option):
    argument = f" {option['argument']}" if "argument" in option else ""
    letter = f"`-{option['letter']}`, " if "letter" in option else ""
    return f"{letter}`--{option['name']}{argument}`"


def option_table(command):
    rows = [f"| {option_cell(option)} | {option['help']} |\n" for option in command["options"]]
    return "".join(["| option | |\n", "|---|---|\n", *rows])


def command_table(tables):
    rows = [f"| [`flc {c['name']}`](#{c['name']}) | {c['summary']} |\n" for c in tables["commands"]]
    return "".join(["| command | what it does |\n", "|---|---|\n", *rows])


def environment_table(tables):
    rows = [f"| `{variable['name']}` | {variable['help']} |\n" for variable in tables["environment"]]
    return "".join(["| variable | |\n", "|---|---|\n", *rows])


def with_table(document, section, head, table):
    """The document with `table` for the one that begins with the line `head` in a section ("": before all sections)."""
    pattern = rf"^## {section}\n.*?(?=^## |\Z)" if section else r"\A.*?(?=^## )"
    found = re.search(pattern, document, re.S | re.M)
    if not found:
        raise SystemExit(f"there is no section {section}")
    text, rows = found[0], re.escape(head) + r"\n(\|.*\n)+"
    if not re.search(rows, text) and table.count("\n") > 2:
        raise SystemExit(f"section {section} has no table that begins with {head}")
    text = re.sub(rows, lambda _: table, text, count=1)
    return document[:found.start()] + text + document[found.end():]


def with_tables(document, tables):
    document = with_table(document, "", "| command | what it does |", command_table(tables))
    for command in tables["commands"]:
        document = with_table(document, command["name"], "| option | |", option_table(command))
    return with_table(document, "Environment", "| variable | |", environment_table(tables))


def main_tables(flc, path, write=None):
    before = Path(path).read_text(encoding="utf-8")
    after = with_tables(before, tables_of(flc))
    if write:
        Path(path).write_text(after, encoding="utf-8")
        return 0
    lines = set(before.splitlines())
    for line in after.splitlines():
        if line not in lines:
            print(f"{path} should say (./dev docs --tables writes them)\n  {line}")
    return int(before != after)


# ---- manual pages

def roff(text):
    """A paragraph: code in bold, links as their words."""
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text).replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def page_head(name, tables):
    return f'.TH {name.upper()} 1 "" "flc {tables["version"]}" "User Commands"\n'


def roff_option(option):
    left = f"\\fB\\-\\-{roff(option['name'])}\\fR"
    if "letter" in option:
        left = f"\\fB\\-{option['letter']}\\fR, {left}"
    if "argument" in option:
        left += f" \\fI{roff(option['argument'])}\\fR"
    return f".TP\n{left}\n{roff(option['help'])}\n"


def roff_list(rows):
    return "".join(f".TP\n\\fB{roff(name)}\\fR\n{roff(text)}\n" for name, text in rows)


EXIT_STATUS = [("0", "success"), ("1", "a mistake in the program, its data or the command line"),
               ("2", "a difference (`flc data --compare`), a tuning file of another program (`flc tune --check`)"),
               ("70", "a mistake in flc itself")]


def command_page(command, tables):
    name = f"flc-{command['name']}"
    page = page_head(name, tables)
    page += f".SH NAME\n{roff(name)} \\- {roff(command['summary'])}\n.SH SYNOPSIS\n.nf\n"
    page += "".join(f"\\fBflc {command['name']}\\fR {roff(line)}\n" for line in command["usage"]) + ".fi\n"
    page += ".SH DESCRIPTION\n" + ".PP\n".join(roff(part) + "\n" for part in command["about"].split("\n\n"))
    if command["options"]:
        page += ".SH OPTIONS\n" + "".join(roff_option(option) for option in command["options"])
    return page + ".SH EXIT STATUS\n" + roff_list(EXIT_STATUS) + ".SH SEE ALSO\n\\fBflc\\fR(1)\n"


def main_page(tables):
    page = page_head("flc", tables)
    page += ".SH NAME\nflc \\- compiler for Fl, a functional data\\-parallel language\n"
    page += ".SH SYNOPSIS\n\\fBflc\\fR \\fICOMMAND\\fR ...\n.br\n\\fBflc help\\fR [\\fICOMMAND\\fR]\n"
    page += (".SH DESCRIPTION\nFl programs are arrays and functions on them, in the syntax of Futhark.  \\fBflc\\fR makes of"
             " their nested parallelism several versions of OpenCL code, and measures which one to run for which"
             " sizes.\n")
    page += ".SH COMMANDS\n"
    page += roff_list((f"flc-{c['name']}(1)", c["summary"]) for c in tables["commands"])
    page += ".SH ENVIRONMENT\n" + roff_list((v["name"], v["help"]) for v in tables["environment"])
    page += ".SH EXIT STATUS\n" + roff_list(EXIT_STATUS)
    see = ", ".join(f"\\fBflc\\-{c['name']}\\fR(1)" for c in tables["commands"])
    return page + f".SH SEE ALSO\n{see}\n"


# ---- completions

def real_options(command):
    """Those that have one name, with --help."""
    help_option = {"name": "help", "help": "print the usage", "values": []}
    return [o for o in command["options"] if "=" not in o["name"]] + [help_option]


def is_file(option):
    return any(word in option.get("argument", "") for word in ("FILE", "OUT", "BASE", "OLD"))


def shell_quoted(text):
    return "'" + plain(text).replace("'", "'\\''") + "'"


def bash_cases(command):
    """After which words which values are offered: (pattern, how)."""
    for option in real_options(command):
        words = "|".join([f"--{option['name']}"] + ([f"-{option['letter']}"] if "letter" in option else []))
        if option["values"]:
            yield words, f'COMPREPLY=($(compgen -W "{" ".join(option["values"])}" -- "$word"))'
        elif "argument" in option:
            yield words, 'COMPREPLY=($(compgen -f -- "$word"))' if is_file(option) else "COMPREPLY=()"


OPERAND_GLOBS = {"programs": "_flc_programs", "files": 'COMPREPLY=($(compgen -f -- "$word"))', "none": ":"}


def bash_function(command):
    options = " ".join(f"--{o['name']}" + (f" -{o['letter']}" if "letter" in o else "") for o in real_options(command))
    cases = "".join(f"    {words}) {how}; return ;;\n" for words, how in bash_cases(command))
    operands = OPERAND_GLOBS[command["operands"]]
    if command["actions"]:
        words = " ".join(command["actions"])
        operands = f'[[ $COMP_CWORD != 2 ]] || COMPREPLY=($(compgen -W "{words}" -- "$word"))'
    return (f"_flc_{command['name']}() {{\n  case $before in\n{cases}    *) ;;\n  esac\n"
            f'  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "{options}" -- "$word"))\n'
            f"  else {operands}\n  fi\n}}\n\n")


def bash(tables):
    names = " ".join(c["name"] for c in tables["commands"])
    programs = ("_flc_programs() {\n  local name\n  COMPREPLY=()\n  while IFS= read -r name; do\n"
                "    [[ -d $name || $name == *.fl || $name == *.fut ]] && COMPREPLY+=(\"$name\")\n"
                '  done < <(compgen -f -- "$word")\n}\n\n')
    top = ("_flc() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           f'  local commands="{names}"\n'
           '  if [[ $COMP_CWORD == 1 ]]; then COMPREPLY=($(compgen -W "$commands help --help --version" -- "$word"))\n'
           '  elif [[ ${COMP_WORDS[1]} == help ]]; then COMPREPLY=($(compgen -W "$commands" -- "$word"))\n'
           '  elif declare -F "_flc_${COMP_WORDS[1]}" > /dev/null; then "_flc_${COMP_WORDS[1]}"\n  fi\n}\n\n')
    functions = "".join(bash_function(command) for command in tables["commands"])
    return ("# Completion of flc for bash.\n# shellcheck disable=SC2207 # words without blanks\n\n" + programs + functions
            + top + "complete -o filenames -F _flc flc\n")


def zsh_option(option):
    """A specification of _arguments."""
    text = plain(option["help"]).replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    value = ""
    if option["values"]:
        value = f":{option['argument']}:({' '.join(option['values'])})"
    elif "argument" in option:
        argument = option["argument"].replace(":", "\\:").replace("[", "(").replace("]", ")")
        value = f":{argument}:" + ("_files" if is_file(option) else "")
    forms = [("--" + option["name"], "=" if value else "")]
    if "letter" in option:
        forms.append(("-" + option["letter"], "+" if value else ""))
    excluded = " ".join(name for name, _ in forms)
    return [f"({excluded}){name}{glue}[{text}]{value}" for name, glue in forms]


def zsh(tables):
    operands = {"programs": "*:program:_files -g '*.(fl|fut)'", "files": "*:file:_files", "none": None}
    cases = ""
    for command in tables["commands"]:
        words = [spec for option in real_options(command) for spec in zsh_option(option)]
        if command["actions"]:
            words.append(f"1:action:({' '.join(command['actions'])})")
        elif operands[command["operands"]]:
            words.append(operands[command["operands"]])
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        cases += f"    {command['name']}) _arguments -s {quoted} ;;\n"
    described = " ".join(shell_quoted(f"{c['name']}:{c['summary']}") for c in tables["commands"])
    return ("#compdef flc\n# Completion of flc for zsh.\n\n_flc() {\n"
            f"  local -a commands=({described} 'help:say more of a command')\n"
            "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
            "  if [[ ${words[2]} == help ]]; then _describe command commands; return; fi\n"
            "  local name=${words[2]}\n  shift words; (( CURRENT-- ))\n"
            f"  case $name in\n{cases}  esac\n}}\n\n_flc \"$@\"\n")


def fish_option(command, option):
    letter = f" -s {option['letter']}" if "letter" in option else ""
    value = ""
    if option["values"]:
        value = f" -x -a {shell_quoted(' '.join(option['values']))}"
    elif "argument" in option:
        value = " -r -F" if is_file(option) else " -x"
    seen = f"__fish_seen_subcommand_from {command['name']}"
    return f"complete -c flc -n '{seen}'{letter} -l {option['name']}{value} -d {shell_quoted(option['help'])}\n"


def fish(tables):
    names = " ".join(c["name"] for c in tables["commands"])
    text = "# Completion of flc for fish.\n\n"
    for command in tables["commands"]:
        text += (f"complete -c flc -f -n 'not __fish_seen_subcommand_from {names} help' -a {command['name']}"
                 f" -d {shell_quoted(command['summary'])}\n")
    text += f"complete -c flc -f -n '__fish_seen_subcommand_from help' -a '{names}'\n"
    for command in tables["commands"]:
        text += "".join(fish_option(command, option) for option in real_options(command))
        if command["actions"]:
            words = " ".join(command["actions"])
            seen = f"__fish_seen_subcommand_from {command['name']}; and not __fish_seen_subcommand_from {words}"
            text += f"complete -c flc -f -n '{seen}' -a '{words}'\n"
    return text


def page(name, tables):
    shells = {"flc.bash": bash, "_flc": zsh, "flc.fish": fish, "flc.1": main_page}
    if name in shells:
        return shells[name](tables)
    of = name.removeprefix("flc-").removesuffix(".1")
    return command_page(next(c for c in tables["commands"] if c["name"] == of), tables)


def main_pages(flc, output, *names):
    tables = tables_of(flc)
    for name in names:
        (Path(output) / name).write_text(page(name, tables), encoding="utf-8")
    missing = {f"flc-{c['name']}.1" for c in tables["commands"]} - set(names)
    if missing:
        raise SystemExit(f"commands without a page in meson.build: {', '.join(sorted(missing))}")
    return 0


if __name__ == "__main__":
    sys.exit({"pages": main_pages, "tables": main_tables}[sys.argv[1]](*sys.argv[2:]))
