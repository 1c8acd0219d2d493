"""The steps of a conversion from one wire format to another; ``clew.providers.convert`` takes them."""
