import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import flc


def test_arrays_go_in_and_come_out(values):
    assert values.sum(np.float32([1, 2, 3.5])) == 6.5
    matrix = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(values.flip(matrix), matrix.T)
    np.testing.assert_array_equal(values.flip(matrix.T), matrix)  # not contiguous
    assert values.flip(np.empty((0, 3), np.int64)).shape == (3, 0)


def test_numbers_of_python_are_taken_where_they_fit(values):
    assert values.sum([1, 2.5]) == 3.5
    assert values.sum([]) == 0
    assert values.get([5, 6], 1) == 6
    assert values.get(np.int16([5, 6]), np.int32(1)) == 6
    with pytest.raises(TypeError, match="xs: expected an array of int32, found int64"):
        values.get(np.int64([5, 6]), 1)
    with pytest.raises(TypeError, match="xs: expected int32, found a list of float"):
        values.get([5.5], 0)
    with pytest.raises(OverflowError, match="xs: 2147483648 is out of range for int32"):
        values.get([1, 1 << 31], 0)
    with pytest.raises(TypeError, match="xs: expected 1 dimension, found 2"):
        values.sum([[1.0]])
    with pytest.raises(TypeError, match="xss: the rows of an array must be equally long"):
        values.flip([[1, 2], [3]])
    with pytest.raises(TypeError, match="xs: expected an array of float32, found NoneType"):
        values.sum(None)
    with pytest.raises(TypeError, match="xs: expected an array of float32, found str"):
        values.sum("ab")
    with pytest.raises(TypeError, match="xs: expected int32, found a list of int and float"):
        values.get([1, 2.5], 0)
    with pytest.raises(TypeError, match="xs: expected an array of float32, found a list of str"):
        values.sum(["ab"])
    with pytest.raises(TypeError, match="i: expected int64, found an array of 1 dimension"):
        values.get([5, 6], np.array([1]))
    with pytest.raises(TypeError, match=r"expected an array of uint8, found str \(its .encode\(\) is one of u8\)"):
        values.bytes("ab")


def test_numbers_of_numpy_are_numbers_and_what_is_too_large_is_an_error(values):
    assert values.get([5, 6], np.int64(1)) == values.get([5, 6], np.array(1)) == 6
    assert values.scale(np.float32([1, 2]), np.int64(2)).tolist() == [2, 4]
    with pytest.raises(OverflowError, match="i: [0-9]{20,} is out of range for int64"):
        values.get([5, 6], np.uint64(2**64 - 1))
    with pytest.raises(OverflowError, match="i: [0-9]{20,} is out of range for int64"):
        values.get([5, 6], 2**70)
    with pytest.raises(TypeError, match="i: expected int64, found NoneType"):
        values.get([5, 6], None)
    with pytest.raises(OverflowError, match=r"xs: 1e\+300 is out of range for float32"):
        values.sum([1e300])
    assert values.sum([float("inf"), 1]) == float("inf")
    assert values.bits([2**63, 1]) == 2**63 + 1
    assert values.bytes(b"ab") == ord("a") + ord("b")
    with pytest.raises(TypeError, match="xs: expected an array of float32, found elements that are masked"):
        values.sum(np.ma.array(np.float32([1, 2]), mask=[0, 1]))


def test_scalars_of_every_type(values):
    low = [-(1 << bits - 1) for bits in (8, 16, 32, 64)]
    high = [(1 << bits) - 1 for bits in (8, 16, 32, 64)]
    assert values.extremes() == (*low, *high, 0.5, 0.25, True)


def test_f16(values):
    half, halves = values.halves(3, np.float16([1, 2]))
    assert half == 1.5 and halves.dtype == np.float16 and list(halves) == [0.5, 1]


def test_tuples_nest(values):
    flags, big, (one, minus) = values.several(3, True)
    np.testing.assert_array_equal(flags, [True, False, True])
    assert (big, one, minus) == (200, 1, -1)


def test_records_are_named_tuples(values):
    p = values.swap({"x": 1, "y": 2})
    assert (p.x, p.y) == (2, 1) and type(p).__name__ == "point"
    assert values.swap(p) == (1, 2)
    with pytest.raises(TypeError, match="p: expected the fields x, y, found x, z"):
        values.swap({"x": 1, "z": 2})
    with pytest.raises(TypeError, match="p: expected point, found int"):
        values.swap(3)


def test_arrays_of_records_are_structured_arrays(values):
    points = np.zeros(3, [("y", np.float32), ("x", np.float32)])
    points["x"], points["y"] = [3, 2, 4], 7
    assert values.corner(points) == (2, 7)
    made = values.diagonal(4)
    np.testing.assert_array_equal(made["x"], [0, 1, 2, 3])
    assert made.dtype.names == ("x", "y") and values.corner(made) == (0, 0)
    on_device = values.diagonal(4, on_device=True)
    assert values.corner(on_device) == (0, 0) and len(on_device.parts()) == 2
    assert values.swap(made[3]) == (3, 3)
    assert values.corner([(3, 4), {"y": 1, "x": 5}, made[2]]) == (2, 1)
    assert values.diagonal(0).shape == (0,) and len(values.twice([])) == 0
    with pytest.raises(TypeError, match=r"ps\[0\]: expected point, found int"):
        values.corner([1])
    with pytest.raises(TypeError, match="ps: expected .*point, an array with the fields x, y, found int"):
        values.corner(1)


def test_arrays_of_sums_are_sequences_on_the_device(values):
    tiles = values.tiles(3)
    assert isinstance(tiles, flc.OpaqueArray) and tiles.shape == (3,) and len(tiles) == 3
    assert tiles[0] == ("disc", 0) and tiles[-1] == ("disc", 2) and tiles[1][1].tolist() == [1, 1]
    assert [name for name, _ in tiles] == ["disc", "strip", "disc"]
    tiles[2] = ("strip", [4, 5])
    assert values.sizes_of(tiles).tolist() == [0, 2, 9]
    with pytest.raises(IndexError, match="index 3 is out of bounds for 3 elements"):
        tiles[3]
    with pytest.raises(IndexError, match="expected 1 index, found 2"):
        tiles[0, 0]
    with pytest.raises(KeyError, match="has no field x; it has none"):
        tiles["x"]
    with pytest.raises(flc.ProgramError, match="differ in size"):
        tiles[0] = ("strip", [1, 2, 3])
    assert repr(tiles) == "<[3]tile on the device>" and repr(copy.copy(tiles)) == repr(tiles)


def test_arrays_of_sums_are_lists_on_the_way_in(values):
    assert values.sizes_of([("disc", 3), ("strip", [1, 2, 3])]).tolist() == [9, 6]
    assert values.sizes_of([("strip", np.float32([1, 2]))]).tolist() == [3]
    assert values._library.types["tile"]["leaf_sizes"] == [[], [], [-1]]  # of `tile [2]` and `tile [n]`
    assert values.sizes_of([("disc", 3)]).tolist() == [9] and values.sizes_of([]).shape == (0,)
    assert values.sizes_of(list(values.tiles(4))).tolist() == [0, 2, 4, 4]
    with pytest.raises(TypeError, match=r"ts\[1\]: expected tile, a tuple that begins with one of disc, strip, found 'dsc'"):
        values.sizes_of([("disc", 3), ("dsc", 3)])
    with pytest.raises(TypeError, match="ts: arrays in the elements must be equally long"):
        values.sizes_of([("strip", [1]), ("strip", [1, 2])])
    with pytest.raises(TypeError, match=r"ts: expected \[\]tile, found int"):
        values.sizes_of(3)


def test_arrays_of_records_that_hold_arrays_are_structured_arrays(values):
    bodies = values.bodies(3, 2)
    assert bodies["at"].shape == (3, 2) and bodies[2]["spin"]["y"] == 2
    assert values.moment(bodies).tolist() == [6, 6]
    one = {"mass": 2, "at": [5, 6], "spin": (0, 1)}
    assert values.moment([one, bodies[1]]).tolist() == [13, 15]
    on_device = values.bodies(3, 2, on_device=True)
    on_device[0] = one
    assert on_device[0].at.tolist() == [5, 6] and on_device["spin"][0] == (0, 1)
    assert values.moment(on_device).tolist() == [17, 19]
    columns = {"mass": [1, 1, 1], "at": on_device["at"], "spin": on_device["spin"]}
    assert values.moment(columns).tolist() == [12, 13]
    with pytest.raises(TypeError, match="bs: expected the fields at, mass, spin, found at"):
        values.moment({"at": on_device["at"]})
    with pytest.raises(TypeError, match=r"bs\[0\]: expected the fields at, mass, spin, found at, mass"):
        values.moment([{"at": [1], "mass": 2}])


def test_arrays_of_tuples_have_several_dimensions(values):
    assert values.grid(2, 3)["0"].tolist() == [[0, 0, 0], [0, 1, 2]]
    grid = values.grid(2, 3, on_device=True)
    assert grid.shape == (2, 3) and grid[1, -1] == (2, False) and grid.tolist()[1][1] == (1, True)
    assert values.corner_of(grid) == (2, False)
    assert values.corner_of([[(1, True), (2, False)], [(3, True), (4, True)]]) == (4, True)
    with pytest.raises(TypeError, match="g: the rows of an array must be equally long"):
        values.corner_of([[(1, True)], [(3, True), (4, True)]])


def test_what_shares_an_array_is_freed_once_each(values):
    points = values.diagonal(3, on_device=True)
    columns = [points["x"] for _ in range(3)]
    del columns[1]
    assert columns[0].numpy().tolist() == columns[1].numpy().tolist() == [0, 1, 2]
    first, second = values.both([1, 2], on_device=True)
    del first
    assert second.numpy().tolist() == [1, 2]


def test_sums_hold_arrays_of_sizes_that_other_arguments_tell(values):
    assert values.weighted(("whole", [1, 2, 3]), [1, 1, 2]) == 9
    assert values.weighted(("real", [1, 2, 3], [True, False, True]), [1, 1, 2]) == 7
    assert values.weighted("unknown", [1, 1, 2]) == -4
    assert values.weighted(values.whole([4, 5], True), [1, 1]) == 9
    assert values.weighted(values.whole([4, 5], False, on_device=True), [1, 1]) == -2
    assert values.counted(("whole", [1, 2]), (("whole", [3, 4]), 5)) == (2, 16)
    assert values.counted("unknown", (("whole", [3, 4]), 5)) == (2, 7)
    assert values.counted("unknown", ("unknown", 5)) == (0, 5)
    with pytest.raises(flc.ProgramError, match="invalid sizes"):
        values.weighted(("whole", [1, 2, 3]), [1, 1])
    with pytest.raises(TypeError, match="v.whole: expected an array of int32, found NoneType"):
        values.weighted(("whole", None), [1])


def test_sums_are_tuples_with_the_name_of_the_constructor(values):
    assert values.pick(True) == ("circle", 2) and values.pick(False) [:2] == ("polygon", ("open",))
    assert values.area(("square", 3)) == 9 and values.area(("none",)) == values.area("none") == 0
    np.testing.assert_array_equal(values.pick(False)[2], [1.5, 2.5])
    assert values.area(values.pick(True)) == 12 and values.area(values.pick(False)) == 4
    assert values.area(("polygon", ("closed",), np.float32([1, 2, 4]))) == 7
    assert [values.far(step) for step in [("turn", 90), ("move", [2, 3]), "stay"]] == [-1, 5, 0]
    with pytest.raises(TypeError, match="s: expected shape, .* one of circle, none, polygon, square, found 'disc'"):
        values.area("disc")
    with pytest.raises(TypeError, match="s: circle takes 1 argument, found 0"):
        values.area("circle")


def test_values_on_the_device_are_stored_and_restored(values):
    shape = values.pick(True, on_device=True)
    assert isinstance(shape, flc.Opaque) and values.area(shape) == 12 and shape.numpy() == ("circle", 2)
    again = values.restore("shape", bytearray(bytes(shape)))
    assert values.area(again) == 12
    with pytest.raises(ValueError):
        values.restore("shape", bytes(shape)[:-1])
    with pytest.raises(flc.DeviceError):
        values.restore("shape", b"x" * 8 + bytes(8))


def test_arrays_stay_on_the_device(values):
    array = values.to_device(np.float32([1, 2, 3]))
    assert (array.shape, array.dtype, len(array), array.nbytes) == ((3,), np.float32, 3, 12)
    assert values.sum(array) == 6
    scaled = values.scale(array, 2, on_device=True)
    assert isinstance(scaled, flc.DeviceArray) and scaled.type == "[]f32"
    np.testing.assert_array_equal(scaled, [2, 4, 6])
    np.testing.assert_array_equal(np.from_dlpack(scaled), [2, 4, 6])
    np.testing.assert_array_equal(np.asarray(scaled, np.float64) + 1, [3, 5, 7])
    assert list(scaled) == [2, 4, 6] and scaled[1] == 4
    with pytest.raises(flc.DeviceError, match="consumed"):
        values.sum(array)


def test_copies_are_values_of_their_own(values):
    array = values.to_device(np.float32([1, 2, 3]))
    shape = values.pick(True, on_device=True)
    copies = [copy.copy(array), copy.deepcopy([array])[0]]
    assert values.area(copy.copy(shape)) == values.area(copy.deepcopy(shape)) == 12
    del array
    assert [values.sum(one) for one in copies] == [6, 6]
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(copies[0])
    assert copy.copy(values) is copy.deepcopy(values) is values
    with pytest.raises(TypeError, match="compile the program in each process"):
        pickle.dumps(values)


def test_buffers_of_opencl_are_shared(values):
    array = values.to_device(np.float32([1, 2, 3]))
    view = values.from_cl_mem(array.cl_mem, "[]f32", (2,))
    del array
    assert values.sum(view) == 3 and bytes(view) == np.float32([1, 2]).tobytes()
    assert values.command_queue
    for wrong, error in [(("x", (2,)), TypeError), ((view.cl_mem, (2, 1)), ValueError), ((view.cl_mem, (2.0,)), TypeError)]:
        with pytest.raises(error):
            values.from_cl_mem(wrong[0], "[]f32", wrong[1])


def test_other_arrays_come_by_dlpack(values):
    class Tensor:
        def __dlpack__(self, **options):
            return np.float32([1, 2]).__dlpack__(**options)

        def __dlpack_device__(self):
            return (1, 0)

    assert values.sum(Tensor()) == 3


def test_values_belong_to_their_module(values):
    other = flc.source("entry main [n] (xs: [n]f32) : f32 = f32.sum xs")
    with pytest.raises(flc.DeviceError, match="another module"):
        other.main(values.to_device(np.float32([1])))
    with pytest.raises(TypeError, match="no arrays of type"):
        other.to_device(np.int8([1]))


def test_errors_of_the_program(values):
    with pytest.raises(flc.ProgramError, match=r"values.fl:\d+:\d+: error: Index \[7\] out of bounds"):
        values.get([1, 2], 7)
    assert values.get([1, 2], 0) == 1  # the module goes on


def test_values_may_outlive_each_other():
    program = """
import gc, numpy as np, flc
for i in range(20):
    module = flc.source("entry main [n] (xs: [n]f32) : [n]f32 = map (+ 1) xs")
    array = module.main(module.to_device(np.float32([1, 2])), on_device=True)
    cycle = [module, array]
    cycle.append(cycle)
    del module, array, cycle
    gc.collect()
last = flc.source("entry main [n] (xs: [n]f32) : [n]f32 = map (+ 1) xs")
kept = [last.main([1], on_device=True) for _ in range(3)]
kept.append(kept)
"""
    perturbed = os.environ | {"MALLOC_PERTURB_": "165"}  # what is used after it was freed crashes
    done = subprocess.run([sys.executable, "-c", program], env=perturbed, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_forked_processes_are_told():
    program = """
import multiprocessing, numpy as np, flc
SUM = "entry main [n] (xs: [n]f32) : f32 = f32.sum xs"
def message(use):
    try:
        return use()
    except flc.DeviceError as error:
        return str(error)
def work(connection):
    uses = [lambda: module.main([1]), lambda: kept.numpy(), lambda: module.command_queue, lambda: flc.source(SUM).main([2])]
    connection.send([message(use) for use in uses])
fork = multiprocessing.get_context("fork")
def told():
    here, there = fork.Pipe()
    process = fork.Process(target=work, args=(there,))
    process.start()
    assert here.poll(60)
    messages = here.recv()
    process.join(60)
    assert process.exitcode == 0
    return messages
module = kept = None
module = flc.source(SUM)
kept = module.to_device(np.float32([1, 2]))
assert module.main(kept) == 3
messages = told()
assert all("spawn" in text for text in messages), messages
assert module.main(kept) == 3
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_may_share_a_module(values):
    results = []

    def work():
        for i in range(10):
            array = values.to_device(np.full(100, i, np.float32))
            results.append(values.sum(array) == 100 * i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 40 and all(results)
