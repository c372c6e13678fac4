import type { BaseSequencer } from 'vitest/node';

declare const TestOrder: typeof BaseSequencer;
export default TestOrder;
