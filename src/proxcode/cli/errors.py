"""Exceptions as one-sentence error messages."""

import errno

# Optional packages and the extra of proxcode that installs each of them.
EXTRAS = {"matplotlib": "plots", "pyarrow": "tables", "h5py": "tables", "skops": "skops"}
_PERMISSIONS = "choose another location, or change its permissions"
_SPACE = "free some space, then run the same command again"
REMEDIES = {
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: _PERMISSIONS,
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
}


def one_sentence(error: Exception) -> str:
    """Return the message of an exception as one line that ends with a full stop.

    Examples
    --------
    >>> one_sentence(PermissionError(13, "Permission denied", "/root/m.proxcode"))
    '/root/m.proxcode: Permission denied: choose another location, or change its permissions.'
    >>> one_sentence(ValueError("n_bits=0: expected an integer from 1 to 1024"))
    'n_bits=0: expected an integer from 1 to 1024.'
    """
    if isinstance(error, MemoryError):
        reason = f" ({error})" if str(error) else ""
        return f"not enough memory{reason}: use fewer samples, or a machine with more memory."
    if isinstance(error, ModuleNotFoundError) and (package := str(error.name).partition(".")[0]) in EXTRAS:
        return f"{package} is not installed: pip install 'proxcode[{EXTRAS[package]}]'."
    if isinstance(error, OSError) and error.strerror is not None:
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"{place}{error.strerror}: {REMEDIES.get(error.errno or 0, 'choose another file or folder')}."
    text = " ".join(str(error).split())
    if not text or not isinstance(error, ValueError | TypeError | OSError | ImportError):
        return f"unexpected {type(error).__name__}: {text} (--debug shows the traceback)."
    return text if text.endswith((".", "?")) else f"{text}."
