"""Waits in threads of their own for coroutines: the default executor of asyncio has few, and waiting calls would fill it."""
from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], unwanted: Callable[[T], object] | None = None) -> T:
    """Runs `work` in a thread. If the coroutine is cancelled first, `unwanted` gets the result, in a thread."""
    waiting = _Waiting(work, asyncio.get_running_loop(), unwanted)
    # The program does not end before what it has to report is reported.
    threading.Thread(target=waiting.run, daemon=unwanted is not None, name="countersign").start()
    try:
        return await waiting.future
    except asyncio.CancelledError:
        waiting.cancel()
        raise


class _Waiting(Generic[T]):
    def __init__(
        self, work: Callable[[], T], loop: asyncio.AbstractEventLoop, unwanted: Callable[[T], object] | None
    ) -> None:
        self._work = work
        self._loop = loop
        self._unwanted = unwanted
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._results: list[T] = []
        self.future: asyncio.Future[T] = loop.create_future()

    def run(self) -> None:
        try:
            result = self._work()
        except BaseException as error:  # The coroutine gets it.
            self._tell(lambda future, error=error: future.set_exception(error))
            return
        with self._lock:
            self._results.append(result)
            is_cancelled = self._is_cancelled
        if is_cancelled:
            self._drop(result)
        else:
            self._tell(lambda future: future.set_result(result))

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
        for result in self._results:
            # It came at the same moment.
            threading.Thread(target=self._drop, args=(result,), daemon=False, name="countersign").start()

    def _drop(self, result: T) -> None:
        if self._unwanted is not None:
            self._unwanted(result)

    def _tell(self, settle: Callable[[asyncio.Future[T]], None]) -> None:
        def later() -> None:
            if not self.future.done():
                settle(self.future)

        try:
            self._loop.call_soon_threadsafe(later)
        except RuntimeError:
            pass  # The loop was closed: nobody waits for it.
