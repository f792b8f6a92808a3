"""The HTTP interface: Django views that translate, and decide nothing.

What a token may do is decided in `administration/engine/access/api_access.py`; which
status an error has, in `administration/core/access/http_statuses.py`.
"""
