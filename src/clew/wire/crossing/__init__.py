"""The steps of a conversion from one wire format to another; ``clew.wire.convert`` takes them."""
