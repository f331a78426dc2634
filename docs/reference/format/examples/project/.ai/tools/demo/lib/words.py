# rye:signed:2026-02-14T00:27:54Z:e8d0007e4776ec8d49c9a8c9e087d57a23f4c1c6f91984be581f882c60e9bd6f:d/xCMISxm6B8ORHBF4LT4WhzwickQD7jFJBHR78gJY2rErtsmKlxEcPxp9YE5MD/1cUJ8S+Tfkw5fOFuVic+AQ:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
"""Helpers of the demo tools. A file without tool_type is a support file."""


def words(text):
    return text.split()
