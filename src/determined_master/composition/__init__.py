"""The composition root: only here and in `app.py` are concrete parts created and connected."""
