"""Tasks of experiments in several processes.

1. Workers are started afresh ("spawn"), each with one thread of BLAS, OpenMP and proxcode: as many cores are used as
   there are workers. Results of proxcode do not depend on the number of threads.
2. A task writes its own files; what it returns is ignored. An error or Ctrl-C ends all workers at once, and files that
   were finished stay.
3. With one job the tasks run in this process, one after another, with all threads.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from threading import Thread
from typing import TypeVar

from proxcode.utils.progress import ProgressDisplay

Task = TypeVar("Task")

# Numbers of threads that libraries read when they are loaded; the last one is that of proxcode and joblib.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def run_tasks(function: Callable[[Task], object], tasks: Sequence[Task], jobs: int, progress: ProgressDisplay) -> None:
    """Call a function for each task, in up to `jobs` processes.

    Parameters
    ----------
    function : callable
        Defined at the top level of a module, as another process imports it; or a `partial` of such a function.
    tasks : sequence
        Begun in this order.
    jobs : int
        Number of processes; 1 uses this process.
    progress : ProgressDisplay
        Updated after each task.
    """
    if jobs == 1 or len(tasks) <= 1:
        for task in tasks:
            function(task)
            progress.update()
        return
    with _workers(min(jobs, len(tasks))) as pool:
        futures = [pool.submit(function, task) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
                progress.update()
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "a worker process ended abruptly, perhaps for lack of memory: run again, with fewer jobs; finished "
                "parts are not repeated."
            ) from error


@contextmanager
def _workers(n_workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes with one thread each; after an error end them without waiting."""
    others = set(multiprocessing.active_children())
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    pool = ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn"), initializer=_begin_worker)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent process, and end with it, also if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
