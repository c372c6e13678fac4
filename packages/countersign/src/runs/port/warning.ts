// Process warnings, for stores, which do not import the loop.
export { warn } from '../../loop/warning.ts';
