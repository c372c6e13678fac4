// How often functions are called while something happens: precise coverage of V8, which counts every call.
import { Session } from 'node:inspector/promises';

/** Calls of functions in the scripts with such a URL, and how many of these scripts there are. */
export async function callsDuring(work, isCounted) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const scripts = result.filter(({ url }) => isCounted(url));
  const calls = scripts
    .flatMap(({ functions }) => functions)
    // The first range of a function is all of it.
    .reduce((sum, { ranges: [whole] }) => sum + whole.count, 0);
  return { scripts: scripts.length, calls };
}
