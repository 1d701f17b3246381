"""The only place that runs work elsewhere and turns results, progress and errors into messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from textual.app import App

from exec.errors import BenchError, Cancelled
from exec.progress import Cancel, Progress
from tui.messages import JobEnded, JobFailed, JobProgress, JobSettled, JobStarted

Work = Callable[[Progress, Cancel], Any]
_REPORTS_PER_SECOND = 4.0


class Job:
    """One piece of work in a thread.

    kind      a newer job of the same kind replaces the older
    progress  (done, total, text) as last reported
    """

    def __init__(self, kind: str, text: str, quiet: bool) -> None:
        self.kind, self.text, self.quiet = kind, text, quiet
        self.stop = threading.Event()
        self.progress: tuple[int, int, str] = (0, 0, text)
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self.started


class Bridge:
    """Runs jobs for the app: `run(kind, text, work, done)`; `done(result)` is called on the app's own thread."""

    def __init__(self, app: App[Any]) -> None:
        self.app = app
        self.jobs: dict[str, Job] = {}

    @property
    def busy(self) -> Job | None:
        """The oldest job that can be seen running."""
        return next((j for j in self.jobs.values() if not j.quiet), None)

    def run(self, kind: str, text: str, work: Work, done: Callable[[Any], None], *, quiet: bool = False) -> None:
        """Start `work(progress, cancel)` in a thread; latest wins among jobs of one kind.

        quiet   short work that shows no progress row
        """
        older = self.jobs.get(kind)
        if older is not None:
            older.stop.set()
        job = self.jobs[kind] = Job(kind, text, quiet)
        self.app.post_message(JobStarted(kind, text, quiet))
        threading.Thread(target=self._work, args=(job, work, done), name=f"owb-{kind}", daemon=True).start()

    def cancel(self) -> Job | None:
        """Ask the visible job to stop."""
        job = self.busy
        if job is not None:
            job.stop.set()
        return job

    def cancel_all(self) -> None:
        """Ask every job to stop (the app is leaving)."""
        for job in self.jobs.values():
            job.stop.set()

    def _work(self, job: Job, work: Work, done: Callable[[Any], None]) -> None:
        last = 0.0

        def progress(count: int, total: int, text: str) -> None:
            nonlocal last
            job.progress = (count, total, text)
            now = time.monotonic()
            if now - last >= 1 / _REPORTS_PER_SECOND and not job.quiet:
                last = now
                self.app.post_message(JobProgress(job.kind, count, total, text))

        try:
            result = work(progress, job.stop.is_set)
        except Cancelled:
            count, total, _ = job.progress
            ended = JobEnded(job.kind, job.text, stopped=True, quiet=job.quiet, done=count, total=total)
            self._finish(job, lambda: self.app.post_message(ended))
        except BenchError as error:
            failed = JobFailed(job.kind, error)
            self._finish(job, lambda: self.app.post_message(failed))
        except PermissionError as error:
            denied = JobFailed(job.kind, BenchError(f"{job.text}: not allowed", why=str(error)))
            self._finish(job, lambda: self.app.post_message(denied))
        except Exception as error:  # a bug of ours must not take the screen down; it is shown whole
            wrapped = BenchError(
                f"{job.text}: {type(error).__name__}",
                why=str(error)[:300],
                hint="this is a defect: please report it with the model's card",
            )
            wrapped.__cause__ = error
            self._finish(job, lambda: self.app.post_message(JobFailed(job.kind, wrapped)))
        else:
            self._finish(job, lambda: self._deliver(job, done, result))

    def _finish(self, job: Job, then: Callable[[], Any]) -> None:
        """Back on the app's thread: forget the job; a result that was replaced is dropped."""

        def settle() -> None:
            if self.jobs.get(job.kind) is job:
                del self.jobs[job.kind]
                then()

        self.app.post_message(JobSettled(settle))  # to an app that has gone it goes nowhere

    def _deliver(self, job: Job, done: Callable[[Any], None], result: Any) -> None:
        self.app.post_message(JobEnded(job.kind, job.text, stopped=False, quiet=job.quiet))
        done(result)
