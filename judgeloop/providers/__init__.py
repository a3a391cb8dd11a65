"""Reaches a chat model: address, key, price, bill, one request."""
