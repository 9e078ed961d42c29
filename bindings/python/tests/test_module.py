import errno
import inspect
import locale
import pydoc
import subprocess
import sys

import numpy as np
import pytest

import flc
from flc import build

PRODUCT = """
entry main [n][m][k] (a: [n][k]f32) (b: [k][m]f32) : [n][m]f32 =
  map (\\row -> map (\\column -> f32.sum (map2 (*) row column)) (transpose b)) a
"""


def test_help_shows_types_and_comments(values):
    assert str(inspect.signature(values.scale)) == "(xs: *[]f32, by: f32, *, on_device: bool = False) -> []f32"
    text = pydoc.plain(pydoc.render_doc(values.sum))
    assert "sum(xs: []f32" in text and "The sum of the elements,\n    from the left." in text
    assert "xs: []f32, used up by the call" in values.scale.__doc__
    assert "several(self, n: i64, b: bool" in pydoc.plain(pydoc.render_doc(type(values)))


def test_arguments_by_name(values):
    assert values.get(i=1, xs=[3, 4]) == 4
    with pytest.raises(TypeError, match=r"missing a required argument: 'i': get\(xs: \[\]i32, i: i64"):
        values.get([3, 4])
    with pytest.raises(TypeError, match="too many positional arguments"):
        values.get([3, 4], 0, 1)
    with pytest.raises(AttributeError, match="the program has no entry point got; it has .*get, "):
        values.got([3, 4], 0)
    assert not hasattr(values, "__len__")


def test_entry_points_whose_name_is_taken(values):
    assert values.entries["tune"](3) == 4
    assert inspect.ismethod(values.tune) and "Measures" in values.tune.__doc__


def test_parameters_whose_name_is_taken():
    module = flc.source("entry main (from: i32) (self: i32) (x': i32) (x_: i32) : i32 = from - self + x' * x_", name="taken")
    assert list(inspect.signature(module.main).parameters) == ["from_0", "self_1", "x_", "x__3", "on_device"]
    assert module.main(self_1=3, from_0=2, x_=4, x__3=5) == 19


def test_mistakes_are_exceptions_with_the_text_of_the_compiler(tmp_path):
    with pytest.raises(flc.CompileError, match="wrong.fl:1:[0-9]+: error: the result of `main` has type `i32`"):
        flc.source("entry main (x: i32) : f32 = x", name="wrong")
    with pytest.raises(flc.CompileError, match="cannot read .*absent.fl"):
        flc.compile(tmp_path / "absent.fl")
    with pytest.raises(ValueError, match="code: expected cpu or gpu, found tpu"):
        flc.source(PRODUCT, code="tpu")
    with pytest.raises(ValueError, match="flatten: expected one of"):
        flc.source(PRODUCT, flatten="sideways")
    with pytest.raises(flc.DeviceError, match="no such device"):
        flc.source(PRODUCT, device="no such device")


def test_programs_are_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = "entry main (x: i32) : i32 = x * 3"
    assert flc.source(program).main(2) == 6
    monkeypatch.setattr(build, "run_cc", None)
    assert flc.source(program).main(3) == 9
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cached = next((tmp_path / "flc" / "python").iterdir())
    for kept in [b"", b"garbage", cached.read_bytes()[:-100]]:  # as a crash of the machine may leave it
        cached.unlink()
        cached.write_bytes(kept)
        assert flc.source(program).main(4) == 12
    monkeypatch.setenv("CC", "false")
    with pytest.raises(flc.Error, match="the C compiler failed"):
        flc.source(program)
    assert [path.suffix for path in (tmp_path / "flc" / "python").iterdir()] == [".so"]


def test_a_cache_without_room_is_not_used(tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build.shutil, "copyfile", refuse)
    with pytest.warns(UserWarning, match="the cache .* is not used: No space left on device"):
        assert flc.source("entry main (x: i32) : i32 = x * 5").main(2) == 10
    assert not any((tmp_path / "flc" / "python").iterdir())


def test_a_cache_that_others_may_write_to_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "flc" / "python"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert build.cache_folder() is None
    folder.chmod(0o700)
    assert build.cache_folder() == folder


def test_the_cache_stays_small(tmp_path, monkeypatch):
    monkeypatch.setenv("FLC_CACHE_MIB", "0")
    for name in "abc":
        (tmp_path / f"{name}.so").write_bytes(b"x")
    build.prune(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def test_the_only_entry_point_needs_no_name():
    one = flc.source("entry twice [n] (xs: [n]i32) = map (* 2) xs", name="one")
    assert one.profile([1, 2]).kernels
    two = flc.source("entry a (x: i32) = x\nentry b (x: i32) = x", name="two")
    with pytest.raises(flc.Error, match="no entry point main; the program has a, b"):
        two.profile(1)


def test_versions_are_drawn_and_measured(tmp_path):
    module = flc.source(PRODUCT, name="product")
    tree = module.tree()
    assert "main.top_0" in tree and "V0" in tree
    a, b = np.ones((8, 4), np.float32), np.ones((4, 8), np.float32)
    np.testing.assert_allclose(module.main(a, b), a @ b)
    for wrong in [(), (a, b, a)]:
        with pytest.raises(TypeError, match=f"main: expected 2 arguments, found {len(wrong)}"):
            module.profile(*wrong)
    profile = module.profile(module.to_device(a), b, runs=2)
    assert profile.kernels and profile.kernels[0]["count"] % 2 == 0 and profile.kernels[0]["name"] in repr(profile)
    module.set_tuning({"main.top_0": 5})
    module.profile_page(tmp_path / "page.html", a, b, runs=1)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "8 &ge; 5" in page or "8 ≥ 5" in page, page[:500]
    file = tmp_path / "tuning"
    file.write_text("\ufeffmain.top_0=3\nmain.segmap.other=2 -- of another version\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="no parameter main.segmap.other"):
        module.set_tuning(file)
    file.write_text("main.top_0=many", encoding="utf-8")
    with pytest.raises(flc.Error, match="tuning:1: expected name=integer"):
        module.set_tuning(file)
    file.write_text("main.top_0=1 -- a comment\n\nmain.intra_1=5\n")
    module.set_tuning(file)
    assert module.tuning == {"main.top_0": 1, "main.intra_1": 5} and "main.top_0" in module.params
    with pytest.raises(TypeError, match="main: expected 2 arguments, found 1"):
        module.tune([(a,)])
    with pytest.raises(flc.Error, match="no entry point absent; the program has main"):
        module.tune([], entry="absent")
    with pytest.raises(ValueError, match="at least one run, found none"):
        module.tune([])
    with pytest.raises(TypeError, match="a tuple of arguments for each run, found ndarray"):
        module.tune([a, b])
    with pytest.raises(ValueError, match="budget: expected seconds, found -1"):
        module.tune([(a, b)], budget=-1)
    with pytest.raises(flc.Error, match="no such parameter"):
        module.set_tuning({"main.absent": 1})


def test_recipes_that_the_tuner_finds_are_passed_over(monkeypatch):
    module = flc.source(PRODUCT, name="product")

    def tuner(command, path, options, imports, fine):
        file = options[options.index("--output") + 1]
        with open(file, "w", encoding="utf-8") as out:
            out.write("main.top_0=3\nmain.segmap.recipe=6\n")
        return "", ""

    monkeypatch.setattr(build, "run_flc", tuner)
    a = np.ones((8, 4), np.float32)
    assert module.tune([(a, a.T)]) == {"main.top_0": 3}


def test_the_tuner_leaves_arguments_out_on_which_the_program_fails():
    module = flc.source("entry main [n] (xs: [n]i32) = map (\\x -> x / xs[0]) xs", name="quotient")
    ones = np.ones(8, np.int32)
    with pytest.warns(UserWarning, match="1 of 2 data sets left out") as caught:
        module.tune([(ones,), (0 * ones,)], budget=2)
    assert "division by zero" in str(caught[0].message)
    with pytest.raises(flc.CompileError, match="no version could be measured"):
        module.tune([(0 * ones,)], budget=2)


def test_what_shells_export(monkeypatch, capsys):
    from flc import opencl, shell
    for name in opencl.VARIABLES:
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(opencl, "packaged_device", lambda: "/a b/libpocl.so")
    monkeypatch.setattr(opencl.glob, "glob", lambda _: [])
    shell.main()
    assert "export OCL_ICD_VENDORS='/a b/libpocl.so'\n" in capsys.readouterr().out


def test_advice_to_those_without_a_device(monkeypatch):
    from flc import opencl
    for name in opencl.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(opencl, "packaged_device", lambda: None)
    assert "pip install pocl-binary-distribution" in opencl.advice()
    monkeypatch.setattr(opencl, "packaged_device", lambda: "libpocl.so")
    assert opencl.advice() == ""
    monkeypatch.setattr(opencl, "packaged_device", lambda: None)
    monkeypatch.setenv("OCL_ICD_VENDORS", "/none")  # somebody knows where devices are
    assert opencl.advice() == ""


def test_profiles_where_numbers_have_commas(tmp_path, monkeypatch):
    made = tmp_path / "de_DE.UTF-8"
    try:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(made)], capture_output=True, check=False)
    except FileNotFoundError:
        pass
    if not made.is_dir():
        pytest.skip("localedef makes no locales here")
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    module = flc.source(PRODUCT, name="product")
    a = np.ones((8, 8), np.float32)
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    try:
        assert locale.localeconv()["decimal_point"] == ","
        assert isinstance(module.profile(a, a).guards[0]["at_us"], float)
    finally:
        locale.setlocale(locale.LC_ALL, before)


class Shell:
    """As much of IPython as the magic uses."""

    def __init__(self):
        self.magic, self.names = {}, {}

    def register_magic_function(self, function, magic_kind, magic_name):
        self.magic[magic_kind, magic_name] = function

    def push(self, names):
        self.names.update(names)


def test_warnings_and_imports_of_texts(tmp_path, monkeypatch):
    (tmp_path / "on_disk.fl").write_text("def twice (x: i32) = x + x\n")
    monkeypatch.chdir(tmp_path)
    module = flc.source('import "on_disk"\nentry main (x: i32) = twice x')
    assert module.main(4) == 8 and "V0" in module.tree()
    with pytest.warns(flc.CompileWarning, match="source.fl:1:.* warning: unused name `y`") as found:
        assert flc.source("entry main (x: i32) = let y = 1 in x").main(4) == 4
    assert found[0].filename == __file__
    assert repr(flc.source("def f (x: i32) = x")).endswith(".fl: no entry points>")
    for name in ["", "a/b"]:
        with pytest.raises(ValueError, match="name: expected the name of a file"):
            flc.source(PRODUCT, name=name)


def test_cells_of_a_notebook(capsys):
    shell = Shell()
    flc.load_ipython_extension(shell)
    cell = shell.magic["cell", "fl"]
    cell("", "entry double (x: i32) : i32 = 2 * x")
    assert shell.names["fl"].double(4) == 8
    with pytest.raises(flc.CompileError, match="more.fl:1:") as found:
        cell("more", "entry double (x: i32) : f32 = x")
    assert found.value._render_traceback_() == [str(found.value)] and "more" not in shell.names
    cell("", "entry double (x: i32) : i32 = let y = 1 in 2 * x")
    assert "unused name `y`" in capsys.readouterr().err
    for name in ["2x", "class", "a b"]:
        with pytest.raises(flc.CompileError, match=f"expected a name for the module, found {name}"):
            cell(name, "entry double (x: i32) = 2 * x")


def test_cells_import_cells():
    shell = Shell()
    flc.load_ipython_extension(shell)
    cell = shell.magic["cell", "fl"]
    cell("helpers", "def twice (x: i32) = 2 * x")
    with pytest.raises(flc.CompileError, match="unknown name"):  # what was compiled before stays
        cell("helpers", "def twice (x: i32) = 2 * y")
    uses = 'import "helpers"\nentry main (x: i32) = twice x'
    cell("", uses)
    assert shell.names["fl"].main(4) == 8
    cell("helpers", "def twice (x: i32) = x + x + 1")
    assert shell.names["fl"].main(4) == 8
    cell("", uses)
    assert shell.names["fl"].main(4) == 9


def test_commands(tmp_path):
    program = tmp_path / "more.fl"
    program.write_text("entry main (x: i32) = x + 1\n")
    done = subprocess.run([sys.executable, "-m", "flc", "eval", str(program)], input="4", capture_output=True, text=True, check=True)
    assert done.stdout == "5i32\n"
