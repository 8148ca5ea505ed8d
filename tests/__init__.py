def checked(function):
    """The type checker of pyproject.toml, whose name must be that of a package's own."""
    from tests.checking import checked

    return checked(function)
