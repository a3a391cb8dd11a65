"""Reaches who is asked: an API's address, key, price, bill and one request; or the user's own code."""
