"""What can go wrong, as exceptions."""


class Error(Exception):
    """Everything that this package raises of its own."""


class CompileError(Error):
    """The compiler refused the program; the text is the compiler's."""


class CompileWarning(UserWarning):
    """What the compiler warns of in a program that it compiled."""


class ProgramError(Error):
    """The program failed while running: a failed check, an array of the wrong size."""


class DeviceError(Error):
    """OpenCL failed, or a value was used wrongly (given away before, of another module)."""


class OutOfMemory(DeviceError, MemoryError):
    """The device has not enough memory."""


PROGRAM_ERROR, OUT_OF_MEMORY = 2, 3


def of_status(status, text):
    """The exception for the status of a function of the library."""
    kinds = {PROGRAM_ERROR: ProgramError, OUT_OF_MEMORY: OutOfMemory}
    return kinds.get(status, DeviceError)(text)
