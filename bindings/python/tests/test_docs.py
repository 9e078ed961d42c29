import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"


def test_the_examples_of_the_manual_run():
    text = "\n".join("" if line.startswith("```") else line for line in PAGE.read_text(encoding="utf-8").splitlines())
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 15
    out = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(examples, out=out.append)
    assert runner.failures == 0, "".join(out)
