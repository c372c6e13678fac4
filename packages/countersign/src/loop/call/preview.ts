// The preview of a call: what would happen. Computed when a person is asked, and again before an approved call starts.

import { messageOf } from '../../core/errors.ts';
import { isObject, sameJson, toJson } from '../../core/json.ts';
import type { Preview, Previews } from '../../core/request/request.ts';
import type { Call } from '../../core/run/call.ts';
import type { Driver } from '../run.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import { approvalContext } from './body-context.ts';
import { validInput } from './bound-input.ts';
import type { filesOf, WithFiles } from './preview-files.ts';

const DEFAULT_MS = 10_000;

/** In characters of its JSON: a person reads it, and each card carries it. */
const LONGEST = 100_000;

const LONGEST_PROBLEM = 500;

/** Computes the preview with the input that the call would run with. Never rejects; undefined if the tool has none. */
export async function previewOf(driver: Driver, tool: ToolDefinition, call: Call): Promise<Preview | undefined> {
  if (!tool.preview) return undefined;
  try {
    const returned = await computed(driver, tool, call);
    const { value, files } = hasFiles(returned)
      ? await filesIn(driver, returned)
      : { value: returned, files: undefined };
    const made = toJson(value);
    if (!made.ok) return failedWith(`it is not JSON: ${made.problem}`);
    if (JSON.stringify(made.value).length > LONGEST) return failedWith(`it is longer than ${LONGEST} characters`);
    return { value: made.value, ...(files && { files }) };
  } catch (error) {
    return failedWith(messageOf(error));
  }
}

/** Other lists named `files` are a part of the value. */
function hasFiles(returned: unknown): returned is WithFiles {
  return (
    isObject(returned) &&
    Array.isArray(returned.files) &&
    returned.files.length > 0 &&
    returned.files.every((file) => isObject(file) && 'mediaType' in file && 'data' in file)
  );
}

/** Most previews have none. */
async function filesIn({ asker }: Driver, returned: WithFiles): ReturnType<typeof filesOf> {
  const { filesOf } = await import('./preview-files.ts');
  return filesOf(returned, asker?.keepFile);
}

/** Both previews, if the one that was approved is no longer true; undefined if the call may start. */
export async function changedPreview(
  driver: Driver,
  tool: ToolDefinition,
  call: Call,
): Promise<Required<Previews> | undefined> {
  const { approvedPreview: earlierPreview } = call;
  if (!isCompared(tool, call) || !earlierPreview) return undefined;
  const preview = await previewOf(driver, tool, call);
  return !preview || isSame(earlierPreview, preview) ? undefined : { preview, earlierPreview };
}

/** The approved card showed a preview, and the tool wants to know whether it has changed. */
export function isCompared({ preview, onPreviewChange }: ToolDefinition, { approvedPreview }: Call): boolean {
  return preview !== undefined && approvedPreview !== undefined && onPreviewChange !== 'run';
}

/** A person who approved without a preview has accepted its absence. */
function isSame(approved: Preview, now: Preview): boolean {
  if ('failed' in approved || 'failed' in now) return 'failed' in approved && 'failed' in now;
  return sameJson(approved.value, now.value) && hashesOf(approved) === hashesOf(now);
}

/** In their order, with their names: another file under the same name is another preview. */
const hashesOf = ({ files = [] }: Exclude<Preview, { failed: string }>): string =>
  JSON.stringify(files.map(({ name, mediaType, sha256 }) => [name, mediaType, sha256]));

function failedWith(problem: string): Preview {
  const shown = problem.length > LONGEST_PROBLEM ? `${problem.slice(0, LONGEST_PROBLEM)}…` : problem;
  return { failed: shown.toWellFormed() };
}

/** The function gets the input as the body would get it, parsed again, so that it can change only its own copy. */
async function computed(driver: Driver, tool: ToolDefinition, call: Call): Promise<unknown> {
  const { previewWithin = DEFAULT_MS } = tool;
  const input = await validInput(tool, call);
  if (!input.ok) throw new Error(input.text);
  const stopping = new AbortController();
  const { signal } = stopping;
  const stop = (): void => stopping.abort(new Error('the run was stopped'));
  const timer = setTimeout(() => stopping.abort(new Error(`it took longer than ${previewWithin} ms`)), previewWithin);
  driver.signal?.addEventListener('abort', stop, { once: true });
  try {
    const stopped = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    const context = { ...approvalContext(driver, call), signal };
    return await Promise.race([(async () => tool.preview?.(input.value, context))(), stopped]);
  } finally {
    clearTimeout(timer);
    driver.signal?.removeEventListener('abort', stop);
  }
}
