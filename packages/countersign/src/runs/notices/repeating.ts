// Work that is done whenever someone asks for it, once at a time.

/** A request during a pass causes one more. Errors are reported, and the next request tries again. */
export class Repeating {
  readonly #pass: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  #running: Promise<void> | undefined;
  #again = false;

  constructor(pass: () => Promise<void>, onError: (error: unknown) => void) {
    this.#pass = pass;
    this.#onError = onError;
  }

  wake(): void {
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Resolves when nothing runs. */
  async rested(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      await this.#pass().catch(this.#onError);
    }
    this.#running = undefined;
  }
}
