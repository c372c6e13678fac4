// `countersign worker`: drives the runs of a store, without a server.
import { unrecordedText } from '../../unrecorded.ts';
import type { Command } from '../command.ts';
import { EXIT, failureOf } from '../failure.ts';
import { STORE_OPTIONS } from '../place-options.ts';
import { visibleLine } from '../print/visible-text.ts';
import { STOPPING, stopSignal, whetherReadOrNot } from '../runtime/stopping.ts';

export const worker: Command = {
  name: 'worker',
  arguments: '[file]',
  summary: 'drive the runs of a store: what was decided goes on, what crashed is taken up',
  description: [
    'Takes up runs that nobody drives, goes on with what was decided, and keeps deadlines, until it is stopped. Any number of workers may share a store. Ctrl-C or SIGTERM stops it cleanly: what runs comes to its next rest and is handed over.',
  ],
  options: {
    concurrency: { value: 'number', summary: 'how many runs at once, 1 to 1000; 8 unless given' },
    ...STORE_OPTIONS,
  },
  examples: [
    ['countersign worker agents.ts', 'works with your agents'],
    ['countersign worker --store postgres://localhost/app --concurrency 32', 'one of several on a shared store'],
  ],
  run: whetherReadOrNot(async (invocation) => {
    const { output } = invocation;
    const concurrency = invocation.whole('concurrency', 1, 1_000) ?? 8;
    const { openAgents } = await import('../runtime/opening.ts');
    const { ai, where, close } = await openAgents(invocation, invocation.positionals[0]);
    const stop = stopSignal();
    const agents = [...ai.agents.keys()];
    // What goes wrong is told once, until it is something else: a store that is away is asked every second.
    let told = '';
    const tell = (message: string) => {
      if (message === told) return;
      told = message;
      if (output.json) output.document({ type: 'error', at: Date.now(), message }, { follow: true });
      else output.note(`${output.style('red', 'error')}: ${visibleLine(message)}`);
    };
    const working = ai.runs.work({ concurrency, onError: (error) => tell(failureOf(error).message) });
    if (output.json) output.document({ type: 'working', at: Date.now(), where, agents }, { follow: true });
    else output.line(`Working on ${where} with ${agents.join(', ') || 'no agents'}. Ctrl-C stops it.`);
    const signal = await stop;
    output.note(STOPPING);
    const { unrecorded } = await working.stop();
    await close();
    for (const call of unrecorded) tell(unrecordedText(call));
    if (output.json) output.document({ type: 'stopped', at: Date.now(), signal }, { follow: true });
    else if (unrecorded.length === 0) output.line('Stopped.');
    return unrecorded.length > 0 ? EXIT.failure : undefined;
  }),
};
