"""Coroutines waited for, also in a thread that has an event loop already, as a browser's has."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def waited(coroutine):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
