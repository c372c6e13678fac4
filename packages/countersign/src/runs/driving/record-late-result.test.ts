import { expect, test } from 'vitest';
import { LateRecorder } from './record-late-result.ts';

test('a body that fails after its run was taken over does not end the process', async () => {
  const unhandled: unknown[] = [];
  const notice = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', notice);
  const late = new LateRecorder({} as never, async () => undefined);
  late.left(Promise.reject(new Error('The call has its result.')));
  expect(await late.ended(Promise.resolve())).toEqual({ unrecorded: [] });
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', notice);
  expect(unhandled).toEqual([]);
});
