"""The composition root: only here, and in `app.py`, concrete parts are named and joined."""
