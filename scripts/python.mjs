// The Python of the tests: that of the system, installed if it is missing and this is Debian, as root.
//
//   node scripts/python.mjs     prints where it is
import { existsSync } from 'node:fs';
import { canInstall, install } from './apt.mjs';

const PLACES = ['/usr/bin/python3', '/usr/local/bin/python3', '/opt/homebrew/bin/python3'];
const find = () => PLACES.find((path) => existsSync(path));

/** The path of the executable: what `PYTHON` names, or the first that is installed. Throws when there is none. */
export function pythonPath() {
  const named = process.env.PYTHON;
  if (named) {
    if (existsSync(named)) return named;
    throw new Error(`PYTHON is ${named}, and there is no such file.`);
  }
  return find() ?? installed();
}

if (process.argv[1] === import.meta.filename) console.log(pythonPath());

function installed() {
  const manual = 'Install Python 3.10 or later (on Debian: apt-get install python3), or set PYTHON to it.';
  if (!canInstall())
    throw new Error(`Python is not installed, and this script can install it only as root on Debian. ${manual}`);
  const problem = install('python3');
  const found = find();
  if (problem !== undefined || found === undefined)
    throw new Error(`Python could not be installed: ${problem ?? 'it is not where it should be.'} ${manual}`);
  return found;
}
