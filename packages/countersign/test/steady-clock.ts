// The steady clock: claims lapse by it, too, also where a test brings a clock of its own.
import { vi } from 'vitest';

/** It stands still until the test ends: no claim lapses because the machine was held up. */
export function holdSteadyClock(): void {
  vi.spyOn(performance, 'now').mockReturnValue(1_000);
}
