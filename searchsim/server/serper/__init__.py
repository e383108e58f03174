"""Serper, whole: every vertical, the page reader and the account, as recorded answers and many clients show them.

POST with a JSON body, POST with everything in the query string, GET; one query or an array of them. Errors have
Serper's own shape. ``searchsim/schemas/serper`` holds the shapes of the answers.
"""

from searchsim.server.serper.routes import HOSTS, add_routes
from searchsim.server.serper.rows import shown_date
from searchsim.server.serper.wire import error

__all__ = ["HOSTS", "add_routes", "error", "shown_date"]
