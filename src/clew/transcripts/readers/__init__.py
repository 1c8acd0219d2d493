"""One module per session format; each has ``sniff(source)`` (is it this format?) and ``read(source)``."""
