"""Carrying requests to what tasks serve, and the answers back."""
