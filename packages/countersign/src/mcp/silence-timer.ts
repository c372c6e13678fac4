// Ends a request when its server is silent for too long, or when its run is stopped. It does not count while a person is asked.

export class SilenceTimer {
  readonly #timeoutMs: number;
  readonly #end = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #forget: () => void = () => undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Fires when the request must end. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Counts from now, and ends the request with the run that waits for it. */
  start(run: AbortSignal): void {
    this.stop();
    const end = () => this.#end.abort('the run was stopped');
    if (run.aborted) return end();
    run.addEventListener('abort', end, { once: true });
    this.#forget = () => run.removeEventListener('abort', end);
    this.heard();
  }

  /** The server gave a sign of life. */
  heard(): void {
    clearTimeout(this.#timer);
    const end = () => this.#end.abort(`it was silent for ${this.#timeoutMs} ms`);
    this.#timer = setTimeout(end, this.#timeoutMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#forget();
  }
}
