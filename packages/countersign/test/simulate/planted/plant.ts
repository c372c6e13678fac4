// Plants one fault into the sources of this process: loaded with `--import`, before anything of the engine.
import { registerHooks } from 'node:module';
import { FAULTS, OPEN } from './faults.ts';

const { COUNTERSIGN_PLANTED } = process.env;
const fault = [...FAULTS, ...OPEN].find(({ name }) => name === COUNTERSIGN_PLANTED);
if (!fault) throw new Error(`No planted fault is named ${COUNTERSIGN_PLANTED}.`);
const { file, find, replace } = fault;
const url = new URL(`../../../src/${file}`, import.meta.url).href;

registerHooks({
  load(given, context, next) {
    const loaded = next(given, context);
    if (given !== url) return loaded;
    const source = String(loaded.source);
    const parts = source.split(find);
    if (parts.length !== 2)
      throw new Error(`${file} has ${parts.length - 1} places with the text of the fault ${fault.name}.`);
    return { ...loaded, source: parts.join(replace) };
  },
});
