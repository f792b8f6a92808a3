"""The HTTP interface: Django views that translate, and decide nothing.

What a token may do is decided in `engine/managing/api_access.py`; which status an error
has, in `core/access/http_statuses.py`.
"""
