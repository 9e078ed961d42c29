"""Packages made for Futhark's programs work with ours, unchanged."""
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flc import build

HERE = Path(__file__).resolve().parent
futhark_data = pytest.importorskip("futhark_data")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    shutil.copy(HERE / "values.fl", folder)
    build.run_flc("build", folder / "values.fl")
    return folder / "values"


def test_futhark_server(program):
    futhark_server = pytest.importorskip("futhark_server")
    with futhark_server.Server(str(program), "--server") as server:
        assert "sum" in server.cmd_entry_points()
        server.put_value("xs", np.float32([1, 2, 3.5]))
        server.put_value("by", np.float32(2))
        server.cmd_call("sum", "total", "xs")
        assert server.get_value("total") == 6.5
        server.cmd_call("scale", "scaled", "xs", "by")
        np.testing.assert_array_equal(server.get_value("scaled"), [2, 4, 7])
        with pytest.raises(futhark_server.Failure):
            server.cmd_call("sum", "again", "xs")  # scale has used it up


def test_futhark_data(program):
    data = io.BytesIO()
    futhark_data.dump(np.int32([5, 6]), data, binary=True)
    futhark_data.dump(np.int64(1), data, binary=True)
    done = subprocess.run([program, "-b", "-e", "get"], input=data.getvalue(), capture_output=True, check=True)
    assert list(futhark_data.load(io.BytesIO(done.stdout))) == [6]


def test_futhark_ffi(tmp_path):
    pytest.importorskip("futhark_ffi")
    (tmp_path / "scale.fl").write_text(
        "entry scale [n] (xs: [n]f32) (by: f32) : [n]f32 = map (* by) xs\nentry total [n] (xs: [n]f32) = f32.sum xs\n")
    build.run_flc("lib", tmp_path / "scale.fl", ["--prefix", "futhark"])
    tool = Path(sys.executable).with_name("build_futhark_ffi")
    quick = os.environ | {"CFLAGS": "-O0"}
    subprocess.run([tool, "scale"], cwd=tmp_path, env=quick, capture_output=True, check=True)
    program = """
import numpy as np, _scale
from futhark_ffi import Futhark
scale = Futhark(_scale)
ys = scale.scale(np.float32([1, 2, 3]), 2.0)
np.testing.assert_array_equal(scale.from_futhark(ys), [2, 4, 6])
assert scale.total(ys) == 12
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
