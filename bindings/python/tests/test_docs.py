import doctest
import re
from pathlib import Path

import flc
from test_module import Shell

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"


def test_the_examples_of_the_manual_run():
    text = "\n".join("" if line.startswith("```") else line for line in PAGE.read_text(encoding="utf-8").splitlines())
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 15
    out = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(examples, out=out.append)
    assert runner.failures == 0, "".join(out)


def test_the_cells_of_the_manual_run():
    shell, shown = Shell(), []
    for cell in re.findall(r"^```notebook\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.S | re.M):
        first, _, rest = cell.partition("\n")
        if first == "%load_ext flc":
            flc.load_ipython_extension(shell)
        elif first.startswith("%%fl"):
            shell.magic["cell", "fl"](first.removeprefix("%%fl"), rest)
        else:
            expression, _, expected = cell.strip().partition("  # ")
            shown.append((repr(eval(expression, dict(shell.names))), expected))
    assert shown and all(got == expected for got, expected in shown), shown
