"""Numbers and arrays of Python, as numpy's: they are taken where nothing is lost."""
import numpy as np

from .library import DTYPES

# Kinds of Python's numbers that become numbers of a kind.
ACCEPTED = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}


def in_range(what, dtype, numbers, fits):
    """OverflowError with the first of the numbers that does not fit."""
    outside = next((one for one, inside in zip(numbers.flat, fits.flat) if not inside), None)
    if outside is not None:
        raise OverflowError(f"{what}: {outside} is out of range for {dtype}")


def of_integers(what, value, found, dtype):
    """Integers that numpy has no common type for, as [1, 2**63]; other values as they were found."""
    objects = np.asarray(value, object)
    if not all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in objects.flat):
        return found
    limits = np.iinfo(dtype)
    in_range(what, dtype, objects, np.asarray([limits.min <= one <= limits.max for one in objects.flat]))
    return objects.astype(dtype)


def from_python(what, value, found, dtype):
    """Lists and numbers, which have no exact type of their own: what does not fit is an error."""
    if found.size and found.dtype.kind not in ACCEPTED[dtype.kind]:
        raise TypeError(f"{what}: expected {dtype}, found {type_of(value, found)}")
    if found.size and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= int(found.min()) <= int(found.max()) <= limits.max:
            of_integers(what, found.tolist(), found, dtype)
    with np.errstate(over="ignore"):
        made = found.astype(dtype)
    if dtype.kind == "f":
        in_range(what, dtype, found, np.isinf(made) == np.isinf(found))
    return made


def type_of(value, found):
    """What messages call the type of a value, which numpy has found to be `found`."""
    if isinstance(value, np.ndarray):
        fields = value.dtype.names
        return f"an array with the fields {', '.join(fields)}" if fields else f"{found.dtype}"
    if isinstance(value, (list, tuple, range)) and found.size:
        kinds = dict.fromkeys(type(one).__name__ for one in np.asarray(value, object).flat)
        return f"a {type(value).__name__} of {' and '.join(kinds)}"
    return type(value).__name__


def find_array(what, value, wanted):
    """The value as numpy sees it."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(f"{what}: expected {wanted}, found elements that are masked")
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    try:
        return np.asarray(value)
    except ValueError:
        raise TypeError(f"{what}: the rows of an array must be equally long") from None


def as_numpy(what, value, dtype, rank):
    """An array of that type and rank, contiguous; numbers are converted only where nothing is lost."""
    wanted = f"an array of {dtype}" if rank else f"{dtype}"
    made = find_array(what, value, wanted)
    number = isinstance(value, (int, float, np.generic)) or (isinstance(value, np.ndarray) and not made.ndim)
    loose = number or isinstance(value, (list, tuple, range))
    if loose and dtype.kind in "iu" and made.dtype.kind in "fO" and made.size:
        made = of_integers(what, value, made, dtype)
    if made.ndim and not rank:
        raise TypeError(f"{what}: expected {wanted}, found an array of {made.ndim} dimension{'s' * (made.ndim != 1)}")
    if made.dtype.kind not in "biuf":
        hint = " (its .encode() is one of u8)" if rank == 1 and isinstance(value, str) and dtype == np.uint8 else ""
        raise TypeError(f"{what}: expected {wanted}, found {type_of(value, made)}{hint}")
    if loose:
        made = from_python(what, value, made, dtype)
    elif made.dtype != dtype:
        if not np.can_cast(made.dtype, dtype, "safe"):
            raise TypeError(f"{what}: expected {wanted}, found {made.dtype} (convert it with astype)")
        made = made.astype(dtype)
    if made.ndim != rank:
        raise TypeError(f"{what}: expected {rank} dimension{'s' * (rank != 1)}, found {made.ndim}")
    return np.ascontiguousarray(made).reshape(made.shape)


def scalar_of(type_name, value):
    """numpy's number for one of ctypes."""
    return np.uint16(value).view(np.float16) if type_name == "f16" else DTYPES[type_name].type(value)
